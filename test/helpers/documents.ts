import type { DOCUMENT_LIMITS } from '../../src/api/graphql/documents.ts';

export type Limit = keyof typeof DOCUMENT_LIMITS;

const times = (count: number, make: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => make(i)).join(' ');

/** Fields one inside another, `depth` of them. */
export const nested = (depth: number): string =>
  depth === 1 ? '__typename' : `viewer { ${'botOwner { '.repeat(depth - 2)}id ${'} '.repeat(depth - 1)}`;

/** Documents that hold exactly `size` of what a limit counts, and little else. */
export const documentOf: Readonly<Record<Limit, (size: number) => string>> = {
  // A member may not reorder folders: nothing comes of it.
  tokens: (size) => {
    const frame = 'mutation ( $ o : [ ID ! ] ! = [ ] ) { reorder ( input : { order : $ o } ) { __typename } }'.split(
      ' ',
    );
    const list = times(size - frame.length, () => '1');
    return `mutation ($o: [ID!]! = [${list}]) { reorderChannelFolders(input: { order: $o }) { __typename } }`;
  },
  depth: (size) => `{ ${nested(size)} }`,
  aliases: (size) => `{ ${times(size, (i) => `a${i}: __typename`)} }`,
  introspectionAliases: (size) => `{ ${times(size, (i) => `a${i}: __schema { queryType { name } }`)} }`,
  directives: (size) => `{ ${times(size, () => '__typename @include(if: true)')} }`,
  fragments: (size) =>
    `{ ${times(size, (i) => `...f${i}`)} } ${times(size, (i) => `fragment f${i} on Query { __typename }`)}`,
  repetitions: (size) => `{ ${times(size, () => '__typename')} }`,
  cost: (size) => {
    // The page's size times what stands in it, and one for the connection.
    const inPage = 1 + 100 * (2 + 197);
    return `{ users(first: 100) { edges { node { ${'id '.repeat(197)} } } } ${'__typename '.repeat(size - inPage)} }`;
  },
};
