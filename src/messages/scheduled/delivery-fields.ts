import { builder, type Types } from '../../api/graphql/schema/builder.ts';
import type PrismaTypes from '../../generated/pothos.ts';

/** GraphQL enum for the delivery state of a scheduled message or a reminder. */
const DeliveryState = builder.enumType('DeliveryState', {
  description: 'Delivery state of a scheduled message or reminder.',
  values: {
    SCHEDULED: { value: 'scheduled', description: 'Waiting for the delivery time.' },
    DELIVERED: { value: 'delivered', description: 'Sent.' },
    FAILED: { value: 'failed', description: 'Could not be sent. The service does not retry it.' },
  } as const,
});

type FieldBuilder = PothosSchemaTypes.PrismaObjectFieldBuilder<Types, PrismaTypes['ScheduledMessage']>;

/** Defines the GraphQL fields that scheduled messages and reminders have in common. */
export const deliveryFields = (
  t: Pick<FieldBuilder, 'expose' | 'exposeInt' | 'exposeString' | 'field'>,
  descriptions: { readonly databaseId: string; readonly content: string; readonly renderedContent: string },
) => ({
  databaseId: t.exposeInt('id', { description: descriptions.databaseId }),
  content: t.exposeString('content', { description: descriptions.content }),
  renderedContent: t.exposeString('renderedContent', { description: descriptions.renderedContent }),
  scheduledAt: t.expose('scheduledAt', { type: 'DateTime', description: 'Delivery time.' }),
  state: t.field({
    type: DeliveryState,
    description: 'Delivery state.',
    resolve: ({ state }) => state as typeof DeliveryState.$inferType,
  }),
  failureReason: t.exposeString('failureMessage', {
    nullable: true,
    description: 'Reason for the failure. Null unless the delivery failed.',
  }),
});
