import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql';
import { builder } from '../../api/graphql/builder.ts';
import '../../api/graphql/errors.ts';
import '../../api/graphql/event-types.ts';
import '../../api/graphql/node.ts';
import '../../api/graphql/rate-limit.ts';
import '../../api/graphql/scalars.ts';
// The GraphQL of every feature, so that its types and fields are in the schema.
import '../../people/alert-words/graphql.ts';
import '../../administration/sessions/graphql.ts';
// And what is told over REST of the events that fill a file with it.
import '../../channels/told.ts';
import '../../messages/edits/told.ts';
import '../../administration/sign-in/graphql.ts';
import '../../people/avatars/graphql.ts';
import '../../administration/bots/graphql.ts';
import '../../channels/folders/graphql.ts';
import '../../channels/graphql.ts';
import '../../channels/graphql-events.ts';
import '../../channels/graphql-mutations.ts';
import '../../channels/subscriptions/graphql.ts';
import '../../channels/subscriptions/graphql-events.ts';
import '../../channels/subscriptions/graphql-mutations.ts';
import '../../people/emoji/graphql.ts';
import '../../administration/deactivation/graphql.ts';
import '../../messages/drafts/graphql.ts';
import '../../administration/email-changes/graphql.ts';
import '../registration/graphql.ts';
import '../../api/graphql/permission-fields.ts';
import '../../messages/edits/graphql.ts';
import '../../messages/edits/graphql-events.ts';
import '../../messages/flags/graphql.ts';
import '../../messages/flags/graphql-events.ts';
import '../../messages/graphql.ts';
import '../../messages/graphql-events.ts';
import '../../messages/graphql-pages.ts';
import '../../messages/narrow/graphql.ts';
import '../../messages/sending/graphql.ts';
import '../../people/navigation-views/graphql.ts';
import '../../people/presence/graphql.ts';
import '../../people/profile-fields/graphql.ts';
import '../../messages/reactions/graphql.ts';
import '../../administration/organization/graphql.ts';
import '../../administration/organization/graphql-events.ts';
import '../../messages/reminders/graphql.ts';
import '../../administration/domains/graphql.ts';
import '../../messages/reports/graphql.ts';
import '../../messages/snippets/graphql.ts';
import '../../messages/scheduled/graphql.ts';
import '../../administration/user-defaults/graphql.ts';
import '../../administration/user-groups/graphql.ts';
import '../../administration/user-groups/graphql-events.ts';
import '../../administration/user-groups/graphql-mutations.ts';
import '../../administration/users/graphql.ts';
import '../../messages/conversations/graphql.ts';
import '../../messages/topics/graphql.ts';
import '../../messages/topic-policies/graphql.ts';
import '../../messages/typing/graphql.ts';
import '../../people/status/graphql.ts';
import '../../people/graphql.ts';
import '../../people/graphql-events.ts';
import '../type-ahead/graphql.ts';
import '../../people/video-calls/graphql.ts';

/** The whole schema, new each time. */
export const buildSchema = (): GraphQLSchema => builder.toSchema();

/** The schema in its own language, sorted, as it stands in `schema.graphql`. */
export const printSDL = (schema: GraphQLSchema): string => `${printSchema(lexicographicSortSchema(schema))}\n`;
