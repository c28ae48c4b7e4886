import { describe, test } from 'vitest';
import { bothDoors, furnish, type Who } from '../helpers/both-doors.ts';
import { expectParity } from '../helpers/equivalents.ts';

describe('bots', () => {
  test.concurrent('PATCH and DELETE /bots/{bot_id}, and their mutations', async () => {
    const change = (who: Who, input: { fullName?: string; ownerId?: Who; hears?: boolean }, code?: string) =>
      bothDoors('PATCH', ({ bot }) => `/bots/${bot.id}`, 'updateBot')(
        who,
        (world) => ({
          full_name: input.fullName,
          bot_owner_id: input.ownerId && world[input.ownerId].id,
          default_all_public_streams: input.hears,
          default_sending_stream: 'other',
        }),
        (world) => ({
          ...{ botId: world.bot.id, fullName: input.fullName, hearsAllPublicChannels: input.hears },
          ...(input.ownerId && { ownerId: world[input.ownerId].id }),
          defaultSendingChannelId: world.other,
        }),
        code,
      );
    const remove = (who: Who, code?: string) =>
      bothDoors('DELETE', ({ bot }) => `/bots/${bot.id}`, 'deactivateBot')(
        who,
        () => ({}),
        ({ bot }) => ({ botId: bot.id }),
        code,
      );
    await expectParity(furnish, {
      'its settings': change('owner', { fullName: 'Robot', hears: true }),
      'the same again': change('owner', { fullName: 'Robot', hears: true }),
      'another owner': change('owner', { ownerId: 'moderator' }),
      'a bot for an owner': change('owner', { ownerId: 'bot' }, 'BAD_REQUEST'),
      'by a member': change('member', { fullName: 'Mine' }, 'BAD_REQUEST'),
      'by a guest': change('guest', { fullName: 'Mine' }, 'UNAUTHORIZED_PRINCIPAL'),
      'away, by a member': remove('member', 'BAD_REQUEST'),
      away: remove('administrator'),
      'away already': remove('owner'),
    });
  });
});
