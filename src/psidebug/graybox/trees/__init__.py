"""Tree ensembles as gray boxes: regions stay, leaf values follow the labels.

``profile``     what is kept of one ordinary fit: regions, leaf values, rates, penalties, bags, weights
``loss``        the gradients and Hessians whose leaf sums are the leaf values
``weighting``   labels as weights (sample weights, class weights), and the score before the first tree
``passes``      the walk over the trees, for given or other labels
``ensemble``    the walk for the given labels, which proves that model and data belong together; scores ⇄ margins
``refit``       the gray boxes "leaf_refit" and "leaf_refits"
``linear``      the gray boxes "leaf" and "leaf_residual"
``derivative``  the gray box "leaf_derivative": the walk's tangent, forwards and backwards

A forest is the same thing with one round: its leaf values are means of the labels instead of Newton steps.
"""
