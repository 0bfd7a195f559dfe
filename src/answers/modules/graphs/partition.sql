-- A tree for each group of a tree's nodes: a parent is the nearest node above of the same group.
create perfetto macro tree_structural_partition_by_group(tree_table TableOrSubquery) returns TableOrSubquery as (
  select id, parent_id, group_key from __intrinsic_tree_partition(
    (select __intrinsic_rows(id, parent_id, group_key) from $tree_table))
);
