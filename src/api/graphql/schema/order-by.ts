import { builder } from './builder.ts';
import type { Direction, Order } from './connection.ts';

export const OrderDirection = builder.enumType('OrderDirection', {
  description: 'Sort direction of a list.',
  values: {
    ASC: { value: 'asc', description: 'Ascending: names from A to Z, earliest times first.' },
    DESC: { value: 'desc', description: 'Descending: names from Z to A, latest times first.' },
  } as const,
});

/** The sort field and direction of a list. */
export interface OrderBy<Field extends string> {
  readonly field: Field;
  readonly direction: Direction;
}

/** Returns the order by the column `field`, then by id, as an option of `pageOf`. */
export const columnsBy = ({ field, direction }: OrderBy<string>): Order => ({ [field]: direction, id: direction });

type Fields<Field extends string> = Readonly<Record<string, { readonly value: Field; readonly description: string }>>;

/**
 * Adds the input type for the argument `orderBy` of a list, and the enum of the fields by which the list can be sorted.
 *
 * @param typename Type of the items: `Channel` creates `ChannelOrderInput` and `ChannelOrderField`.
 * @param what Plural noun for the items, for descriptions: "channels".
 */
export function orderInput<Field extends string>(typename: string, what: string, fields: Fields<Field>) {
  const OrderField = builder.enumType(`${typename}OrderField`, {
    description: `Field by which ${what} are sorted.`,
    values: fields,
  });
  const description = `Sort order of ${what}. Items with equal values are sorted by id, in the same direction.`;
  return builder.inputType(`${typename}OrderInput`, {
    description,
    fields: (t) => ({
      field: t.field({ type: OrderField, description: 'Sort field.' }),
      direction: t.field({
        type: OrderDirection,
        defaultValue: 'asc',
        description: 'Sort direction. Default: ascending.',
      }),
    }),
  });
}
