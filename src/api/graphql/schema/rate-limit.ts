import type { Budget } from '../../../platform/budget.ts';
import type { Cost } from '../loading/context.ts';
import { builder } from './builder.ts';

const RateLimit = builder.objectRef<{ readonly budget: Budget; readonly cost: Cost }>('RateLimit').implement({
  description: 'Request budget, shared by all clients of an account, over all transports of GraphQL and over REST.',
  fields: (t) => ({
    limit: t.int({
      description: 'Size of the full budget: number of requests per minute.',
      resolve: ({ budget }) => budget.limit,
    }),
    remaining: t.int({
      description: 'Number of requests left after this one.',
      resolve: ({ budget }) => budget.remaining,
    }),
    resetAt: t.field({
      type: 'DateTime',
      description: 'Time at which the budget is full again.',
      resolve: ({ budget }) => budget.resetAt,
    }),
    cost: t.int({
      description:
        'Number of objects that this operation can return. It has its own limit, and does not reduce the budget.',
      resolve: ({ cost }) => cost.requested,
    }),
    charged: t.int({
      description:
        'Number of requests that this operation counts as. Mutations count once per root field, introspection counts once per ' +
        '5,000 fields of the result, and every other operation counts once.',
      resolve: ({ cost }) => cost.charged,
    }),
  }),
});

builder.queryField('rateLimit', (t) =>
  t.field({
    type: RateLimit,
    nullable: true,
    description:
      'Request budget of the account, or of the network address if the client is not authenticated. Null if requests are ' +
      'not limited.',
    resolve: (_root, _args, { budget, cost }) => (budget === undefined ? null : { budget, cost }),
  }),
);
