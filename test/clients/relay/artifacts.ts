import type { GraphQLTaggedNode } from 'relay-runtime';

/** What relay-compiler made of a document: the test that starts the program has it compile them. */
export async function artifact(name: string): Promise<GraphQLTaggedNode> {
  return (await import(`./__generated__/documents${name}.graphql.ts`)).default;
}
