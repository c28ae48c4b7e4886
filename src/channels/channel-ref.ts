import { builder } from '../api/graphql/builder.ts';
import { refersTo } from '../api/graphql/refs.ts';

/** A channel, wherever its name may stand for its id: what resolvers are given is a `ChannelKey`. */
export const ChannelRef = builder.inputType('ChannelRef', {
  isOneOf: true,
  description: 'Which channel is meant.',
  fields: (t) => ({
    id: t.id({ ...refersTo('Channel'), required: false, description: 'The `id` that it has.' }),
    name: t.string({ required: false, description: 'What it is called, in whatever case.' }),
  }),
});
