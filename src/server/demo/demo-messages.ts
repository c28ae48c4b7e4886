import type { App, Ctx } from '../../access/context.ts';
import { actAs } from '../../access/sign-in.ts';
import type { User } from '../../generated/prisma/client.ts';
import { updateMessage } from '../../messages/edits/edit.ts';
import { addReaction } from '../../messages/reactions/service.ts';
import { scheduleMessage } from '../../messages/scheduled/service.ts';
import { type NewMessage, sendMessage } from '../../messages/sending/send.ts';

/** The demo users who write messages. */
type Cast = Readonly<Record<'iris' | 'mona' | 'bela' | 'cleo' | 'gus', User>>;

const DAY_MS = 86_400_000;

/** Creates the messages of the demo, by calling the services. They contain an example of each kind of content. */
export async function makeMessages(
  app: App,
  cast: Cast,
  { general, website }: { readonly general: number; readonly website: number },
): Promise<void> {
  const says = speakers(app, cast);
  const to = (channelId: number, topic: string) => ({ to: { id: channelId }, topic });
  const party = to(general, 'summer party');
  const proposal = await says('iris', {
    ...party,
    content: 'The summer party: **12th** or **19th**? React with :one: or :two:.',
  });
  await says('mona', { ...party, content: 'The 19th, please: half of the crew is on the water before that. :boat:' });
  await says('cleo', { ...party, content: `@**${cast.iris.fullName}** the old dock is free on both days. I asked.` });
  await addReaction(await actAs(app, cast.bela), proposal, { name: 'two' });
  await addReaction(await actAs(app, cast.mona), proposal, { name: 'two' });
  const launch = to(website, 'launch');
  await says('bela', {
    ...launch,
    content: 'Build and launch, as of today:\n\n1. Tests are green\n2. The text is missing on two pages\n3. Then go',
  });
  await says('cleo', {
    ...launch,
    content: '```quote\nThe text is missing on two pages\n```\nTonight. I have a draft of both.',
  });
  const late = await says('gus', {
    ...launch,
    content: 'Will there be a page for the boats? The photos are ready: https://example.com/boats',
  });
  await says('bela', { ...to(website, 'build'), content: 'It takes `40 s` now:\n\n```ts\nconst seconds = 40;\n```' });
  await says('iris', { ...to(website, ''), content: 'Good work, everyone. @**all** cake at four.' });
  await says('iris', { to: { userIds: [cast.bela.id] }, content: 'Do you have an hour for the launch plan?' });
  await says('bela', { to: { userIds: [cast.iris.id] }, content: 'At <time:2026-12-01T14:00:00Z>?' });
  await says('mona', { to: { userIds: [cast.iris.id, cast.cleo.id] }, content: 'The budget for the fair is through.' });
  await updateMessage(await actAs(app, cast.gus), late, {
    content: 'Will there be a page for the boats? The photos are ready: https://example.com/boats (*forty* of them)',
    propagateMode: 'change_one',
    notifiesOldTopic: false,
    notifiesNewTopic: false,
  });
  await scheduleMessage(await actAs(app, cast.iris), {
    ...party,
    content: 'Last call for the party!',
    timestamp: Math.floor((app.now().getTime() + 7 * DAY_MS) / 1000),
  });
}

/** Returns a function that sends a message as one of the demo users, and returns the id of the message. */
function speakers(app: App, cast: Cast) {
  const known = new Map<keyof Cast, Promise<Ctx>>();
  return async (who: keyof Cast, message: NewMessage): Promise<number> => {
    const ctx = known.get(who) ?? actAs(app, cast[who]);
    known.set(who, ctx);
    return (await sendMessage(await ctx, message)).id;
  };
}
