import { ConflictError, NotFoundError, ValidationError } from '../platform/errors.ts';

const MESSAGE = 'Invalid order mapping.';

/**
 * Checks a new order of all objects of a type, which is the parameter `order` of a request.
 *
 * @param type GraphQL type of the objects.
 * @param given Ids of the objects in the new order.
 * @param known Ids of all objects.
 * @throws ValidationError if an id is repeated.
 * @throws NotFoundError if an id is unknown.
 * @throws ConflictError if an id is missing. For example, another user has just created an object.
 */
export function requireWholeOrder(type: string, given: readonly number[], known: ReadonlySet<number>): void {
  const unknown = given.find((id) => !known.has(id));
  if (unknown !== undefined) throw new NotFoundError(MESSAGE, { type, id: unknown, parameter: 'order' });
  const repeated = given.findIndex((id, i) => given.indexOf(id) !== i);
  if (repeated !== -1) {
    const schemaMessage = 'The order contains an id twice.';
    throw new ValidationError(MESSAGE, { parameter: `order[${repeated}]`, schemaMessage });
  }
  if (given.length < known.size) {
    throw new ConflictError(MESSAGE, { parameter: 'order', schemaMessage: 'The order does not contain all ids.' });
  }
}
