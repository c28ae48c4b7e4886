import { type DocumentNode, type FieldNode, Kind, type SelectionSetNode } from 'graphql';
import { isLeftOut } from './cost.ts';

/** Fields by the name in the response: what has one name is executed once, with all that is selected of it. */
export type SelectedFields = ReadonlyMap<string, readonly FieldNode[]>;

/**
 * The fields of some selections as execution has them: under aliases, in fragments, and without those that `@skip` and
 * `@include` leave out. Every fragment applies, whatever its type.
 *
 * @param variables As coerced.
 */
export function selectedFields(
  document: DocumentNode,
  variables: Readonly<Record<string, unknown>>,
  sets: readonly SelectionSetNode[],
): SelectedFields {
  const fields = new Map<string, FieldNode[]>();
  for (const set of sets) collect({ document, variables, seen: new Set(), fields }, set);
  return fields;
}

interface Collection {
  readonly document: DocumentNode;
  readonly variables: Readonly<Record<string, unknown>>;
  /** Names of the fragments that were spread. */
  readonly seen: Set<string>;
  readonly fields: Map<string, FieldNode[]>;
}

function collect(collection: Collection, { selections }: SelectionSetNode): void {
  const { document, variables, seen, fields } = collection;
  for (const selection of selections) {
    if (isLeftOut(selection, variables)) continue;
    if (selection.kind === Kind.FIELD) {
      const name = (selection.alias ?? selection.name).value;
      fields.set(name, [...(fields.get(name) ?? []), selection]);
    } else if (selection.kind === Kind.INLINE_FRAGMENT) {
      collect(collection, selection.selectionSet);
    } else {
      const name = selection.name.value;
      if (seen.has(name)) continue;
      seen.add(name);
      const fragment = document.definitions.find((d) => d.kind === Kind.FRAGMENT_DEFINITION && d.name.value === name);
      if (fragment?.kind === Kind.FRAGMENT_DEFINITION) collect(collection, fragment.selectionSet);
    }
  }
}
