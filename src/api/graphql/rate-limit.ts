import type { Budget } from '../../platform/budget.ts';
import { builder } from './builder.ts';
import type { Cost } from './context.ts';

const RateLimit = builder.objectRef<{ readonly budget: Budget; readonly cost: Cost }>('RateLimit').implement({
  description:
    'What is left of the budget of requests that all clients of an account share, over every transport and over REST.',
  fields: (t) => ({
    limit: t.int({
      description: 'How many requests the full budget has: as many can be made in a minute.',
      resolve: ({ budget }) => budget.limit,
    }),
    remaining: t.int({
      description: 'How many requests are left, after this one.',
      resolve: ({ budget }) => budget.remaining,
    }),
    resetAt: t.field({
      type: 'DateTime',
      description: 'When the budget is full again.',
      resolve: ({ budget }) => budget.resetAt,
    }),
    cost: t.int({
      description:
        'What answering this operation comes to, which has a limit of its own and takes nothing from the budget.',
      resolve: ({ cost }) => cost.requested,
    }),
    charged: t.int({
      description: 'Requests this operation counts as: one, or as many as it has root fields when it is a mutation.',
      resolve: ({ cost }) => cost.charged,
    }),
  }),
});

builder.queryField('rateLimit', (t) =>
  t.field({
    type: RateLimit,
    nullable: true,
    description: 'What is left of the budget; null where requests are not limited.',
    resolve: (_root, _args, { budget, cost }) => (budget === undefined ? null : { budget, cost }),
  }),
);
