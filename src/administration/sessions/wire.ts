import { z } from 'zod';
import type { Viewer } from '../../access/context.ts';
import type { Session } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';
import { isCurrent } from './service.ts';

/** A session as sent to its user. Times are in UNIX seconds. */
export const wireSession = z.strictObject({
  id: z.int(),
  created_at: z.int(),
  last_seen_at: z.int(),
  idle_expires_at: z.int(),
  expires_at: z.int(),
  user_agent: z.string(),
  network_address: z.string(),
  is_current: z.boolean(),
});

const seconds = (time: Date) => Math.floor(time.getTime() / 1000);

export const toWire = (session: Session, viewer: Viewer): Wire<typeof wireSession> => ({
  id: session.id,
  created_at: seconds(session.createdAt),
  last_seen_at: seconds(session.lastSeenAt),
  idle_expires_at: seconds(session.idleExpiresAt),
  expires_at: seconds(session.expiresAt),
  user_agent: session.userAgent,
  network_address: session.networkAddress,
  is_current: isCurrent(viewer, session),
});
