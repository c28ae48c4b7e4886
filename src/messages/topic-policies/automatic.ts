import { userSetting } from '../../access/user-settings.ts';
import type { User } from '../../generated/prisma/client.ts';
import { type AutomaticPolicy, FOLLOWED, isMoreVisible, UNMUTED } from './policies.ts';

/**
 * Action by which a user gets involved in a topic: reacting to a message, sending a message, or sending the topic's first
 * message.
 */
export type Involvement = 'participates' | 'sends' | 'initiates';

/**
 * Highest value of the two settings at which an involvement changes the policy. Users for whom it never does have the value 4.
 */
const LEAST: Readonly<Record<Involvement, number>> = { participates: 1, sends: 2, initiates: 3 };

/** Whether the user has muted the channel, and the user's policy for the topic. */
export interface Involved {
  readonly isMuted: boolean;
  /** The user's visibility policy for the topic. `INHERITED` if there is none. */
  readonly topicPolicy: number;
}

/**
 * Returns the policy that a topic gets when the user gets involved in it, according to the user's settings: followed, or
 * unmuted if the channel is muted. Undefined if this would not make the topic more visible, and for bots.
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

/**
 * Returns the policy that a topic gets when the user sends a message to it. Undefined if sending does not change the policy.
 */
export const automaticPolicy = (user: User, target: Involved & { readonly topicIsKnown: boolean }) =>
  policyFor(user, target.topicIsKnown ? 'sends' : 'initiates', target);
