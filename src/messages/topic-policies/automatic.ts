import { userSetting } from '../../access/user-settings.ts';
import type { User } from '../../generated/prisma/client.ts';
import { type AutomaticPolicy, FOLLOWED, isMoreVisible, UNMUTED } from './policies.ts';

/**
 * Action by which a user gets involved in a topic: reacting to a message, sending a message, or sending the topic's first
 * message.
 */
export type Involvement = 'participates' | 'sends' | 'initiates';

/**
 * For each involvement, the maximum value of a user's setting for automatic policies at which the involvement changes the
 * policy. The setting 4 means "never".
 */
const MAX_SETTING: Readonly<Record<Involvement, number>> = { participates: 1, sends: 2, initiates: 3 };

/** Whether the user has muted the channel, and the user's policy for the topic. */
export interface Involved {
  readonly isMuted: boolean;
  /** The user's visibility policy for the topic. `INHERITED` if there is none. */
  readonly topicPolicy: number;
}

/**
 * Returns the policy that a topic gets when the user gets involved in it, according to the user's settings: followed, or
 * unmuted if the channel is muted. Undefined for bots, and if the topic would not become more visible.
 */
export function policyFor(
  user: User,
  involvement: Involvement,
  { isMuted, topicPolicy }: Involved,
): AutomaticPolicy | undefined {
  if (user.botType !== null) return undefined;
  const max = MAX_SETTING[involvement];
  const follows = userSetting(user, 'automatically_follow_topics_policy') <= max;
  const unmutes = isMuted && userSetting(user, 'automatically_unmute_topics_in_muted_streams_policy') <= max;
  const policy = follows ? FOLLOWED : unmutes ? UNMUTED : undefined;
  return policy !== undefined && isMoreVisible(policy, topicPolicy) ? policy : undefined;
}
