import { DOCUMENT_LIMITS } from '../../src/api/graphql/documents.ts';

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
    // A row costs itself and each object in it, a page one more; what is left, rows alone.
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
