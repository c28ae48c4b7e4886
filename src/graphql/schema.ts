import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql';
import { builder } from './builder.ts';
import './errors.ts';
import './event-types.ts';
import './node.ts';
import './rate-limit.ts';
import './scalars.ts';
// Every room's door, so that its types and fields are in the schema.
import '../alert-words/graphql.ts';
import '../auth/graphql.ts';
import '../avatars/graphql.ts';
import '../bots/graphql.ts';
import '../channel-folders/graphql.ts';
import '../channels/graphql.ts';
import '../custom-emoji/graphql.ts';
import '../deactivation/graphql.ts';
import '../drafts/graphql.ts';
import '../email-changes/graphql.ts';
import '../event-queue/graphql.ts';
import '../group-settings/graphql.ts';
import '../message-edits/graphql.ts';
import '../message-flags/graphql.ts';
import '../messages/graphql.ts';
import '../navigation-views/graphql.ts';
import '../presence/graphql.ts';
import '../profile-fields/graphql.ts';
import '../reactions/graphql.ts';
import '../realm/graphql.ts';
import '../reminders/graphql.ts';
import '../realm-domains/graphql.ts';
import '../reports/graphql.ts';
import '../saved-snippets/graphql.ts';
import '../scheduled-messages/graphql.ts';
import '../user-defaults/graphql.ts';
import '../user-groups/graphql.ts';
import '../user-topics/graphql.ts';
import '../typing/graphql.ts';
import '../user-status/graphql.ts';
import '../users/graphql.ts';
import '../video-calls/graphql.ts';

/** The whole schema, new each time. */
export const buildSchema = (): GraphQLSchema => builder.toSchema();

/** The schema in its own language, sorted, as it stands in `schema.graphql`. */
export const printSDL = (schema: GraphQLSchema): string => `${printSchema(lexicographicSortSchema(schema))}\n`;
