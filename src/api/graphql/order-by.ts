import { builder } from './builder.ts';
import type { Direction, Order } from './connection.ts';

export const OrderDirection = builder.enumType('OrderDirection', {
  description: 'Which way a list is sorted.',
  values: {
    ASC: { value: 'asc', description: 'The lowest first: names from A to Z, times from the earliest.' },
    DESC: { value: 'desc', description: 'The highest first: names from Z to A, times from the latest.' },
  } as const,
});

/** What a list is sorted by. */
export interface OrderBy<Field extends string> {
  readonly field: Field;
  readonly direction: Direction;
}

/** The same by a column and the id, of a list that `pageOf` reads. */
export const columnsBy = ({ field, direction }: OrderBy<string>): Order => ({ [field]: direction, id: direction });

type Fields<Field extends string> = Readonly<Record<string, { readonly value: Field; readonly description: string }>>;

/**
 * Adds the input of a list's `orderBy`, and the enum of what it can be sorted by.
 *
 * @param typename Of what is in the list: `Channel` makes `ChannelOrderInput` and `ChannelOrderField`.
 */
export function orderInput<Field extends string>(typename: string, what: string, fields: Fields<Field>) {
  const OrderField = builder.enumType(`${typename}OrderField`, {
    description: `What ${what} can be sorted by.`,
    values: fields,
  });
  const description = `How ${what} are sorted. Those that are alike in it are sorted by their ids, the same way.`;
  return builder.inputType(`${typename}OrderInput`, {
    description,
    fields: (t) => ({
      field: t.field({ type: OrderField, description: 'What they are sorted by.' }),
      direction: t.field({ type: OrderDirection, defaultValue: 'asc', description: 'Which way; upwards, if absent.' }),
    }),
  });
}
