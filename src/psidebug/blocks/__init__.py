"""Training rows in blocks: one way over them for arrays, files larger than memory, and clusters.

A block is 2^14 rows that follow each other, counted from row 0 across all borders of files and partitions, as an Arrow
table. Passes are functions of a block. Since the blocks are the same however the rows are stored, and their answers are
merged in a fixed order, every result is the same to the last bit for any number of files, partitions and workers.

To add a kind of blocks (an engine), make a subclass of :class:`Blocks` with

- ``schema``, and ``__len__``: names and types of the columns, and the number of rows;
- ``map(function, columns)``: ``function(block)`` of every block, in the order of rows. Cut what you read with
  :func:`cut`. Partitions do not end where blocks do: either make blocks of slices of partitions, or let every partition
  return the rows at its ends that are no whole block, and work on these where they meet;
- ``reduce(function, merge, columns)``, if answers are better merged where they are made: whoever has the blocks
  a … b-1 sends back ``nodes_of([Node(0, number, function(block)), …], merge)``, and ``merged`` of all these, in the
  order of rows, is the answer. Without it, ``reduce`` is made of ``map``;
- ``write(function, path, columns)``, if workers can write Parquet themselves. Without it, one file is written here.
  Then also ``check_place(folder)``, which refuses a folder that some worker does not see;
- ``fold(function, start, columns)``, if a state can travel from block to block. Without it, the blocks come here;
- ``called`` and ``offers``: its name, and what learners may be trained by where the rows are not read here.

It adds one to ``readings`` for each pass, and to ``bytes_read`` what was read. Functions are made by
``functools.partial`` of functions of modules wherever they must travel. Everything else (sums, the first rows by a
score, rows drawn by chance) is made of these, in :mod:`psidebug.blocks.passes`. :func:`blocks_of` opens the door to it.
"""

from psidebug.blocks.arrays import ArrayBlocks
from psidebug.blocks.block import ROWS, Block, cut
from psidebug.blocks.blocks import Blocks, Training
from psidebug.blocks.door import blocks_of, comes_in_blocks, names_of_columns, with_labels
from psidebug.blocks.parquet import ParquetBlocks, parquet_blocks
from psidebug.blocks.passes import Sums, added, drawn, lots, sums, top, with_lots
from psidebug.blocks.tree import Node, merged, nodes_of

__all__ = [
    "ROWS",
    "ArrayBlocks",
    "Block",
    "Blocks",
    "Node",
    "ParquetBlocks",
    "Sums",
    "Training",
    "added",
    "blocks_of",
    "comes_in_blocks",
    "cut",
    "drawn",
    "lots",
    "merged",
    "names_of_columns",
    "nodes_of",
    "parquet_blocks",
    "sums",
    "top",
    "with_labels",
    "with_lots",
]
