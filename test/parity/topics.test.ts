import { describe, test } from 'vitest';
import { bothDoors, furnish, NOBODY, type Who, type World } from '../helpers/both-doors.ts';
import { expectParity } from '../helpers/equivalents.ts';
import { toTopic } from '../helpers/talk.ts';

describe('topics', () => {
  test.concurrent('POST /user_topics and setTopicVisibility', async () => {
    const NAMES = ['INHERIT', 'MUTED', 'UNMUTED', 'FOLLOWED'];
    const act = (who: Who, topic: string, policy: number, code?: string, id = ({ general }: World) => general) =>
      bothDoors('POST', '/user_topics', 'setTopicVisibility')(
        who,
        (world) => ({ stream_id: id(world), topic, visibility_policy: policy }),
        (world) => ({ ...toTopic(id(world), topic), visibility: NAMES[policy] }),
        code,
      );
    await expectParity(furnish, {
      'a topic that is followed': act('member', 'Lunch', 3),
      'the same again': act('member', 'lunch', 3),
      'the empty topic, muted': act('member', 'general chat', 1),
      'one with a null byte': act('member', 'a\0b', 1, 'BAD_REQUEST'),
      'one with a long name': act('member', 't'.repeat(61), 1, 'BAD_REQUEST'),
      'one of a channel that is not there': act('member', 'lunch', 0, 'BAD_REQUEST', () => NOBODY),
      'one of a channel that is not theirs': act('owner', 'lunch', 2, 'BAD_REQUEST', ({ hidden }) => hidden),
      'one taken back': act('member', 'LUNCH', 0),
      'one that was never set': act('member', 'LUNCH', 0),
    });
  });

  test.concurrent('PATCH /users/me/subscriptions/muted_topics and setTopicVisibility', async () => {
    const act = (who: Who, topic: string, op: 'add' | 'remove', code?: string) =>
      bothDoors('PATCH', '/users/me/subscriptions/muted_topics', 'setTopicVisibility')(
        who,
        ({ general }) => ({ stream_id: general, topic, op }),
        ({ general }) => ({ ...toTopic(general, topic), visibility: op === 'add' ? 'MUTED' : 'INHERIT' }),
        code,
      );
    await expectParity(furnish, {
      'a topic that is muted': act('member', 'Lunch', 'add'),
      'the same again': act('member', 'lunch', 'add'),
      'the empty topic': act('member', '', 'add'),
      'one with a long name': act('member', 't'.repeat(61), 'add', 'BAD_REQUEST'),
      'one unmuted': act('member', 'LUNCH', 'remove'),
      'one that was never muted': act('member', 'dinner', 'remove'),
    });
  });

  test.concurrent('POST /streams/{stream_id}/delete_topic and deleteTopic', async () => {
    const act = (who: Who, topic: string, code?: string, id = ({ general }: World) => general) =>
      bothDoors('POST', (world) => `/streams/${id(world)}/delete_topic`, 'deleteTopic')(
        who,
        () => ({ topic_name: topic }),
        (world) => toTopic(id(world), topic),
        code,
      );
    const follow = (world: World) =>
      world.member.rest('POST', '/user_topics', { stream_id: world.general, topic: 'lunch', visibility_policy: 3 });
    await expectParity(furnish, {
      'one that is followed': { rest: follow, graphql: follow },
      'by a moderator': act('moderator', 'lunch', 'UNAUTHORIZED_PRINCIPAL'),
      'of a channel that is not theirs': act('owner', 'lunch', 'BAD_REQUEST', ({ hidden }) => hidden),
      'with a long name': act('owner', 't'.repeat(61), 'BAD_REQUEST'),
      'by an owner': act('owner', 'LUNCH'),
    });
  });
});
