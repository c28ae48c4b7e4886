import { builder, type Types } from '../../api/graphql/builder.ts';
import type PrismaTypes from '../../generated/pothos.ts';

/** Of what waits to be delivered, and of reminders as well. */
const DeliveryState = builder.enumType('DeliveryState', {
  description: 'What has become of something that was to be delivered at a time.',
  values: {
    SCHEDULED: { value: 'scheduled', description: 'Its time has not come.' },
    DELIVERED: { value: 'delivered', description: 'It was sent.' },
    FAILED: { value: 'failed', description: 'It could not be sent, and is not tried again by itself.' },
  } as const,
});

type FieldBuilder = PothosSchemaTypes.PrismaObjectFieldBuilder<Types, PrismaTypes['ScheduledMessage']>;

/** The fields of everything that is delivered when its time comes. */
export const deliveryFields = (
  t: Pick<FieldBuilder, 'expose' | 'exposeInt' | 'exposeString' | 'field'>,
  says: { readonly databaseId: string; readonly content: string; readonly renderedContent: string },
) => ({
  databaseId: t.exposeInt('id', { description: says.databaseId }),
  content: t.exposeString('content', { description: says.content }),
  renderedContent: t.exposeString('renderedContent', { description: says.renderedContent }),
  scheduledAt: t.expose('scheduledAt', { type: 'DateTime', description: 'When it is to be sent.' }),
  state: t.field({
    type: DeliveryState,
    description: 'Whether it was sent.',
    resolve: ({ state }) => state as typeof DeliveryState.$inferType,
  }),
  failureReason: t.exposeString('failureMessage', {
    nullable: true,
    description: 'Why it could not be sent; null unless it failed.',
  }),
});
