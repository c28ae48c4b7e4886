import { userSetting } from '../../access/user-settings.ts';
import type { User } from '../../generated/prisma/client.ts';
import { type AutomaticPolicy, FOLLOWED, isMoreVisible, UNMUTED } from './policies.ts';

/** The extent of a user's involvement in a topic, in ascending order. */
export type Involvement = 'participates' | 'sends' | 'initiates';

/** For each involvement, the highest value of the two settings for which it counts. The value 4 means never. */
const LEAST: Readonly<Record<Involvement, number>> = { participates: 1, sends: 2, initiates: 3 };

/** State of the user and the topic. */
export interface Involved {
  readonly isMuted: boolean;
  /** The user's visibility policy for the topic. `INHERITED`: none. */
  readonly topicPolicy: number;
}

/**
 * Returns the policy that a user's settings give to a topic when the user gets involved in it, if it makes the topic more
 * visible: followed, or unmuted if the channel is muted. Undefined for bots.
 */
export function policyFor(
  user: User,
  involvement: Involvement,
  { isMuted, topicPolicy }: Involved,
): AutomaticPolicy | undefined {
  if (user.botType !== null) return undefined;
  const reached = LEAST[involvement];
  const follows = userSetting(user, 'automatically_follow_topics_policy') <= reached;
  const unmutes = isMuted && userSetting(user, 'automatically_unmute_topics_in_muted_streams_policy') <= reached;
  const policy = follows ? FOLLOWED : unmutes ? UNMUTED : undefined;
  return policy !== undefined && isMoreVisible(policy, topicPolicy) ? policy : undefined;
}

/** Returns the policy for a topic that results from sending a message to it. */
export const automaticPolicy = (user: User, target: Involved & { readonly topicIsKnown: boolean }) =>
  policyFor(user, target.topicIsKnown ? 'sends' : 'initiates', target);
