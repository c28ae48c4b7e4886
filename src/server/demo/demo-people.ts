import type { App } from '../../access/context.ts';
import { actAs } from '../../access/sign-in.ts';
import { createUserGroup } from '../../administration/user-groups/service.ts';
import type { User } from '../../generated/prisma/client.ts';
import { createProfileField } from '../../people/profile-fields/fields.ts';
import { updateOwnProfile } from '../../people/profile-fields/values.ts';
import { setOwnStatus } from '../../people/status/service.ts';

/** The demo users who get user groups, a profile or a status. */
type Cast = Readonly<Record<'iris' | 'mona' | 'bela' | 'cleo' | 'dana', User>>;

const PARAGRAPH = 2;
const CHOICE = 3;
const PRONOUNS = 8;

/** Creates the user groups, profiles and statuses of the demo, by calling the services. */
export async function makePeople(app: App, { iris, mona, bela, cleo, dana }: Cast): Promise<void> {
  const [asIris, asBela, asCleo] = await Promise.all([iris, bela, cleo].map((user) => actAs(app, user)));
  if (!asIris || !asBela || !asCleo) throw new Error('A demo user is missing');
  const group = { subgroupIds: [], permissions: {} };
  const crew = await createUserGroup(asIris, {
    name: 'web crew',
    description: 'People who build the website.',
    memberIds: [bela.id, cleo.id],
    ...group,
  });
  await createUserGroup(asIris, {
    ...group,
    name: 'launch',
    description: 'People needed for the launch.',
    memberIds: [mona.id, dana.id],
    subgroupIds: [crew.id],
  });
  const pronouns = await createProfileField(asIris, PRONOUNS, { name: 'Pronouns', displayInProfileSummary: true });
  const work = await createProfileField(asIris, PARAGRAPH, { name: 'What I do', hint: 'Ask me about…' });
  const office = await createProfileField(asIris, CHOICE, {
    name: 'Office',
    fieldData: { dock: { text: 'The dock', order: '1' }, tower: { text: 'The tower', order: '2' } },
  });
  await updateOwnProfile(asIris, [
    { fieldId: work.id, value: 'The **harbour**, and everybody in it.' },
    { fieldId: office.id, value: 'tower' },
  ]);
  await updateOwnProfile(asCleo, [
    { fieldId: pronouns.id, value: 'she/her' },
    { fieldId: work.id, value: 'Words and pictures.' },
    { fieldId: office.id, value: 'dock' },
  ]);
  await setOwnStatus(asBela, { statusText: 'Building', emojiName: 'construction' });
}
