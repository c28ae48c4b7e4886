import type { Endpoint } from './rest/endpoint.ts';
import type { StateGroup } from './state-group.ts';

/**
 * A feature as its folder declares it in `feature.ts`. That file also imports the GraphQL files of the folder, which add types
 * and fields to the schema when they are loaded.
 */
export interface Feature {
  /** Endpoints of the feature, in the order in which the page /docs lists them. */
  readonly endpoints?: readonly Endpoint[];
  /** State groups of the feature, which the registration of an event queue can return. */
  readonly state?: readonly StateGroup[];
}
