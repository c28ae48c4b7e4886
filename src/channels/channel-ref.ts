import { builder } from '../api/graphql/schema/builder.ts';
import { refersTo } from '../api/graphql/schema/refs.ts';

/** GraphQL input type for a channel that is given by id or by name. Resolvers receive a `ChannelKey`. */
export const ChannelRef = builder.inputType('ChannelRef', {
  isOneOf: true,
  description: 'A channel, by id or name.',
  fields: (t) => ({
    id: t.id({ ...refersTo('Channel'), required: false, description: 'The `id` of the channel.' }),
    name: t.string({ required: false, description: 'Name of the channel. Case-insensitive.' }),
  }),
});
