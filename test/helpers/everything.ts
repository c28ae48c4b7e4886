import { buildSchema } from '../../src/server/registries/schema.ts';
import { documentOf, GRAPHQL_CALLS } from './graphql-calls.ts';
import type { Method, Person } from './person.ts';
import { pathOf, REST_CALLS } from './rest-calls.ts';
import type { Scene } from './scene.ts';

const isCall = (call: object): call is { as?: 'guest' | 'moderator' } => 'as' in call;
const callerOf = (scene: Scene, call: object): Person => scene[(isCall(call) ? call.as : undefined) ?? 'owner'];

/**
 * Makes every call that is possible in an organization, in an order in which they succeed.
 *
 * @param options.payload Whether mutations also select their payload.
 * @param options.beginning Called before each call, with its name.
 * @returns Number of successful REST calls.
 */
export async function doEverything(
  scene: Scene,
  {
    payload = false,
    beginning = () => {},
  }: { readonly payload?: boolean; readonly beginning?: (call: string) => void } = {},
): Promise<number> {
  const schema = buildSchema();
  let done = 0;
  for (const [name, calls] of Object.entries(REST_CALLS)) {
    const [method, path] = name.split(' ') as [Method, string];
    for (const call of calls(scene.names)) {
      beginning(name);
      const { status } = await callerOf(scene, call).rest(method, pathOf(path, call), call.parameters);
      if (status === 200) done += 1;
    }
  }
  for (const [name, calls] of Object.entries(GRAPHQL_CALLS)) {
    for (const call of calls(scene.names)) {
      beginning(name);
      await callerOf(scene, call).graphql(documentOf(schema, call, { payload }), call.args);
    }
  }
  return done;
}
