import { signedIn } from '../../access/context.ts';
import { RealmDeactivatedError, UserDeactivatedError } from '../../access/errors.ts';
import { builder } from '../../api/graphql/builder.ts';
import { errorType } from '../../api/graphql/errors.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { InvalidVideoCallProviderTokenError } from './errors.ts';
import { beginRegistration, completeRegistration } from './registration.ts';
import { createVideoCall, hasCallToken } from './service.ts';

builder.queryField('hasVideoCallToken', (t) =>
  t.boolean({
    nullable: true,
    description: "Whether video calls can be made in the viewer's name.",
    resolve: (_root, _args, ctx) => hasCallToken(signedIn(ctx)),
  }),
);

builder.queryField('videoCallRegistrationUrl', (t) =>
  t.string({
    nullable: true,
    description:
      "Where the viewer's browser goes, within ten minutes, to allow video calls to be made in their name: to the " +
      'provider, who sends it on to `GET /calls/videoprovider/complete`. The reply gives a cookie over HTTP: only a ' +
      'browser that has it can complete there, and otherwise only the viewer by `completeVideoCallRegistration`.',
    resolve: (_root, _args, ctx) => beginRegistration(signedIn(ctx), ctx.browser),
  }),
);

const VideoCallConsentInput = builder.inputType('VideoCallConsentInput', {
  isOneOf: true,
  description: 'What a provider of video calls answers when it was asked for consent.',
  fields: (t) => ({
    code: t.string({ required: false, description: 'What it gave, to be exchanged for a token.' }),
    error: t.string({ required: false, description: 'Why it gave no code.' }),
  }),
});

mutation('completeVideoCallRegistration', {
  description: 'Takes what the provider sent when the viewer had agreed: once, and of a consent that the viewer began.',
  input: (t) => ({
    state: t.string({ description: 'As it was sent to the provider.' }),
    consent: t.field({ type: VideoCallConsentInput, description: 'What the provider answered.' }),
  }),
  ignoresIdempotencyKey: true,
  payload: () => ({
    hasVideoCallToken: { type: 'Boolean', description: "Whether video calls can be made in the viewer's name: true." },
  }),
  errors: [UserDeactivatedError, RealmDeactivatedError],
  resolve: async ({ app, viewer }, { state, consent: { code, error } }) => {
    const request = { app, viewer, realm: viewer.realm, clientName: viewer.clientName };
    await completeRegistration(request, { state, code, error }, undefined);
    return { hasVideoCallToken: true };
  },
});

errorType(InvalidVideoCallProviderTokenError, 'Video calls may not be made in the name of the viewer.');

mutation('createVideoCall', {
  description: "Makes a video call in the viewer's name.",
  ignoresIdempotencyKey: true,
  payload: () => ({ url: { type: 'String', description: 'Where to join it.' } }),
  errors: [InvalidVideoCallProviderTokenError],
  resolve: async (ctx) => ({ url: await createVideoCall(ctx) }),
});

eventType<{ value: boolean }>(
  'has_videoprovider_token',
  undefined,
  'VideoCallTokenChangedEvent',
  (t) => ({
    hasVideoCallToken: t.boolean({
      description: "Whether video calls can be made in the user's name from here on.",
      resolve: ({ event }) => event.value,
    }),
  }),
  { description: 'The user allowed video calls to be made in their name, or the provider no longer takes that.' },
);
