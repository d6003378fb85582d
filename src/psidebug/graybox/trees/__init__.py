"""Tree ensembles as gray boxes: regions stay, leaf values follow the labels.

``profile``     what is kept of one ordinary fit: regions, leaf values, rates, penalties, bags, weights
``loss``        the gradients and Hessians whose leaf sums are the leaf values
``weighting``   labels as weights: sample weights, class weights, the balanced ones included
``start``       the score before the first tree
``passes``      the walk over the trees: forwards for given or other labels, and its tangent
``trace``       the walk for the given labels, which proves that model, labels and weights belong together
``refit``       the gray box "leaf_refit"
``refits``      the gray box "leaf_refits"
``linear``      the gray boxes "leaf" and "leaf_residual"
``derivative``  the gray box "leaf_derivative"

A forest is the same thing with one round: its leaf values are means of the labels instead of Newton steps.
"""
