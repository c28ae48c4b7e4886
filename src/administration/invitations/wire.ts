import { z } from 'zod';
import type { Ctx } from '../../access/context.ts';
import { readableChannelIds } from '../../channels/access.ts';
import type { Invitation } from '../../generated/prisma/client.ts';
import { ROLES_MEANING } from '../../platform/roles.ts';
import type { Wire } from '../../platform/wire.ts';
import { decidingChannelIds, linkUrlOf } from './service.ts';

export const wireInvitation = z
  .object({
    id: z.int(),
    invited_by_user_id: z.int(),
    invited: z.int().describe('Time of the invitation, in UNIX seconds.'),
    expiry_date: z.int().nullable().describe('Time at which it expires, in UNIX seconds. Null: never.'),
    invited_as: z.int().describe(`Role of the new user: ${ROLES_MEANING}`),
    email: z.string().optional().describe('Address of the invited person. Absent for a link.'),
    link_url: z
      .string()
      .optional()
      .describe(
        'The link. Absent for an invitation by email, and if the operator lost the key that encrypts it. For a role above ' +
          'member, also absent in a session if the sign-in was more than ten minutes ago. Absent if another user created it, ' +
          'and it includes a channel that you cannot read.',
      ),
    notify_referrer_on_join: z.boolean(),
    is_multiuse: z.boolean().describe('Whether it is a link that any number of people can use.'),
  })
  .meta({ id: 'Invitation' });
export type WireInvitation = Wire<typeof wireInvitation>;

const seconds = (time: Date) => Math.floor(time.getTime() / 1000);

/** Converts invitations to wire format. Runs at most two queries. */
export async function toWireList(ctx: Ctx, invitations: readonly Invitation[]): Promise<WireInvitation[]> {
  const deciding = invitations.flatMap((invitation) => decidingChannelIds(ctx, invitation));
  const readable = await readableChannelIds(ctx, deciding);
  return invitations.map((invitation) => toWire(ctx, invitation, readable));
}

function toWire(ctx: Ctx, invitation: Invitation, readable: ReadonlySet<number>): WireInvitation {
  const { id, inviterId, createdAt, expiresAt, role, email, notifiesInviter, isReusable } = invitation;
  const url = linkUrlOf(ctx, invitation, readable);
  return {
    id,
    invited_by_user_id: inviterId,
    invited: seconds(createdAt),
    expiry_date: expiresAt && seconds(expiresAt),
    invited_as: role,
    ...(email !== null && { email }),
    ...(url !== null && { link_url: url }),
    notify_referrer_on_join: notifiesInviter,
    is_multiuse: isReusable,
  };
}
