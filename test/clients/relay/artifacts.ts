import type { GraphQLTaggedNode } from 'relay-runtime';

/**
 * Returns the artifact that relay-compiler generated from a document. The test runs relay-compiler before it starts the
 * program.
 */
export async function artifact(name: string): Promise<GraphQLTaggedNode> {
  return (await import(`./__generated__/documents${name}.graphql.ts`)).default;
}

export const FIRST_SCREEN = await artifact('FirstScreenMutation');
export const EVENTS = await artifact('EventsSubscription');
