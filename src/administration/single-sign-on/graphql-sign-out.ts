import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { type SignOutProvider, signOutProviderOf } from './sign-out.ts';

const SignOutProviderType = builder.objectRef<SignOutProvider>('SignOutProvider').implement({
  description: 'A provider at which a person can sign out.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Display name of the provider.' }),
    path: t.exposeString('path', {
      description: 'Path at which the service redirects the browser to the sign-out of the provider.',
    }),
  }),
});

builder.queryField('signOutProvider', (t) =>
  t.field({
    type: SignOutProviderType,
    nullable: true,
    description:
      "Provider with which the viewer's session began, if the person can sign out there. Null for sessions that began otherwise, " +
      'and for API keys. Read it before `signOut`, and show a link to `path` afterwards.',
    resolve: (_root, _args, ctx) => signOutProviderOf(signedIn(ctx)),
  }),
);
