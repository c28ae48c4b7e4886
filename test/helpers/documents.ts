import { DOCUMENT_LIMITS } from '../../src/api/graphql/documents/documents.ts';

export type Limit = keyof typeof DOCUMENT_LIMITS;

const times = (count: number, make: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => make(i)).join(' ');

/** Returns `depth` levels of nested fields. */
export const nested = (depth: number): string =>
  depth === 1 ? '__typename' : `viewer { ${'botOwner { '.repeat(depth - 2)}id ${'} '.repeat(depth - 1)}`;

/**
 * Functions that return a document, by the name of a limit. The document has exactly `size` of the limited quantity, such as
 * tokens, and little of all other quantities.
 */
export const documentOf: Readonly<Record<Limit, (size: number) => string>> = {
  // Members cannot reorder folders, so the mutation changes nothing.
  tokens: (size) => {
    const frame =
      'mutation ( $ o : [ ID ! ] ! = [ ] ) { reorder ( input : { channelFolderIds : $ o } ) { __typename } }'.split(
        ' ',
      );
    const list = times(size - frame.length, () => '1');
    return `mutation ($o: [ID!]! = [${list}]) { reorderChannelFolders(input: { channelFolderIds: $o }) { __typename } }`;
  },
  depth: (size) => `{ ${nested(size)} }`,
  aliases: (size) => `{ ${times(size, (i) => `a${i}: __typename`)} }`,
  introspectionAliases: (size) => `{ ${times(size, (i) => `a${i}: __schema { queryType { name } }`)} }`,
  directives: (size) => `{ ${times(size, () => '__typename @include(if: true)')} }`,
  fragments: (size) =>
    `{ ${times(size, (i) => `...f${i}`)} } ${times(size, (i) => `fragment f${i} on Query { __typename }`)}`,
  repetitions: (size) => `{ ${times(size, () => '__typename')} }`,
  cost: (size) => {
    // A row costs 1 plus 1 for each object in it. A page costs 1 more. Plain rows fill up the rest.
    const owners = DOCUMENT_LIMITS.depth - 4;
    const row = `${'botOwner { '.repeat(owners)}id ${'} '.repeat(owners)}`;
    const pages: string[] = [];
    let left = size;
    while (left > owners + 2) {
      const rows = Math.min(100, Math.floor((left - 1) / (owners + 1)));
      pages.push(`p${pages.length}: users(first: ${rows}) { edges { node { ${row} } } }`);
      left -= 1 + rows * (owners + 1);
    }
    return `{ ${pages.join(' ')} ${left > 0 ? `users(first: ${left - 1}) { edges { cursor } }` : ''} }`;
  },
};
