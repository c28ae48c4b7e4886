import { userSetting } from '../../access/user-settings.ts';
import type { User } from '../../generated/prisma/client.ts';
import { type AutomaticPolicy, FOLLOWED, isMoreVisible, UNMUTED } from './policies.ts';

/** What a user has to do with a topic for a policy of theirs to apply to it, from the least to the most. */
export type Involvement = 'participates' | 'sends' | 'initiates';

/** Values of the two settings: the least involvement that counts; 4 is never. */
const LEAST: Readonly<Record<Involvement, number>> = { participates: 1, sends: 2, initiates: 3 };

/** What is known of the user and the topic. */
export interface Involved {
  readonly isMuted: boolean;
  /** How visible the user has made the topic: `INHERITED` for no choice. */
  readonly topicPolicy: number;
}

/**
 * The policy a user's settings give a topic they involve themselves in, when it makes the topic more visible: followed,
 * or unmuted, which is of use in a muted channel only. Bots follow nothing.
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

/** The policy that sending a message gives the topic. */
export const automaticPolicy = (user: User, target: Involved & { readonly topicIsKnown: boolean }) =>
  policyFor(user, target.topicIsKnown ? 'sends' : 'initiates', target);
