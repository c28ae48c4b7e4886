import { type DocumentNode, type FieldNode, Kind, type OperationDefinitionNode } from 'graphql';
import { BadRequestError } from '../../../platform/errors.ts';

/**
 * Returns the only root field of a subscription, which may be in a fragment.
 *
 * @throws BadRequestError if the subscription has no root field.
 */
export function rootField(document: DocumentNode, operation: OperationDefinitionNode): FieldNode {
  let selections = operation.selectionSet.selections;
  for (;;) {
    const selection = selections[0];
    if (selection?.kind === Kind.FIELD) return selection;
    const fragment =
      selection?.kind === Kind.FRAGMENT_SPREAD
        ? document.definitions.find((d) => d.kind === Kind.FRAGMENT_DEFINITION && d.name.value === selection.name.value)
        : selection;
    if (fragment === undefined || !('selectionSet' in fragment))
      throw new BadRequestError('Not a subscription to events');
    selections = fragment.selectionSet.selections;
  }
}
