// The form of `schema.graphql` and of the documents of the page, part of `npm run check`. What these rules cannot say of it is
// counted in `contract.ts`. The documents of `clients/` are texts put together from parts, or in the form that
// relay-compiler wants and checks: the service and the compiler are their judges.
import plugin from '@graphql-eslint/eslint-plugin';

const SCHEMA = 'schema.graphql';
const DOCUMENTS = 'src/web/**/*.graphql';

/** Values: parts of what has an id, and what there is nothing more to ask of. */
const WITHOUT_ID = {
  suffixes: ['Payload', 'Error', 'Event', 'Connection', 'Edge', 'Outcome', 'Permissions'],
  types: [
    ...['AuthenticationMethods', 'EventPage', 'ExternalAuthenticationMethod', 'GroupObjection', 'GroupSetting'],
    ...[
      'MessageFlagChange',
      'MessageSnapshot',
      'MutedTopic',
      'PageInfo',
      'ProfileChoice',
      'ProfileValue',
      'PublicRealm',
    ],
    ...['RateLimit', 'ReactionGroup', 'ServerSettings', 'TopicLink', 'Totals', 'TypingTimes'],
  ],
};

const {
  'flat/schema-recommended': schema,
  'flat/schema-relay': relay,
  'flat/operations-recommended': operations,
} = plugin.configs;
const [, names] = schema.rules['@graphql-eslint/naming-convention'];
const [, operationNames] = operations.rules['@graphql-eslint/naming-convention'];

const common = {
  plugins: { '@graphql-eslint': plugin },
  languageOptions: {
    parser: plugin.parser,
    parserOptions: { graphQLConfig: { schema: SCHEMA, documents: DOCUMENTS } },
  },
  linterOptions: { reportUnusedDisableDirectives: 'error' },
};

export default [
  {
    ...common,
    files: [SCHEMA],
    rules: {
      ...schema.rules,
      ...relay.rules,
      '@graphql-eslint/naming-convention': [
        'error',
        {
          ...names,
          // What something is meant by is called so: ChannelRef, MessageTarget, MessageAnchor.
          InputObjectTypeDefinition: { style: 'PascalCase', requiredSuffixes: ['Input', 'Ref', 'Target', 'Anchor'] },
        },
      ],
      '@graphql-eslint/require-description': [
        'error',
        {
          types: true,
          DirectiveDefinition: true,
          FieldDefinition: true,
          InputValueDefinition: true,
          EnumValueDefinition: true,
        },
      ],
      '@graphql-eslint/strict-id-in-types': ['error', { exceptions: WITHOUT_ID }],
      // Lists that are short are no connections; and an old version of a message has no id.
      '@graphql-eslint/relay-edge-types': ['error', { listTypeCanWrapOnlyEdgeType: false, shouldImplementNode: false }],
      '@graphql-eslint/input-name': ['error', { checkInputType: true, caseSensitiveInputType: false }],
      '@graphql-eslint/no-scalar-result-type-on-mutation': 'error',
      '@graphql-eslint/require-nullable-fields-with-oneof': 'error',
      'no-restricted-syntax': [
        'error',
        {
          selector:
            'ObjectTypeDefinition[name.value=Mutation] > FieldDefinition > InputValueDefinition > [kind=NamedType]',
          message: 'A mutation needs its input',
        },
      ],
      // `Reaction.reactionType` is called as in the inputs that add and remove one.
      '@graphql-eslint/no-typename-prefix': 'off',
      // The others that the plugin has are left off:
      // - alphabetize: the file is printed in an order of its own, small letters after capitals;
      // - no-root-type: there are all three;
      // - require-nullable-result-in-root: a mutation always ends in one of its union; of queries, `contract.ts` counts it;
      // - require-field-of-type-query-in-mutation-result: state at one moment is what a registration alone answers with;
      // - require-type-pattern-with-oneof: of objects with `@oneOf`, which there are none of;
      // - require-deprecation-date: it wants an argument of `@deprecated` that GraphQL does not have;
      // - no-unused-fields: clients other than the page use them.
    },
  },
  {
    ...common,
    files: [DOCUMENTS],
    rules: {
      ...operations.rules,
      '@graphql-eslint/naming-convention': [
        'error',
        {
          ...operationNames,
          // A subscription is what somebody has to a channel, too: UpdateSubscription.
          OperationDefinition: { ...operationNames.OperationDefinition, forbiddenSuffixes: ['Query', 'Mutation'] },
        },
      ],
      // The service refuses by what a document costs, however deep.
      '@graphql-eslint/selection-set-depth': 'off',
      // The others that the plugin has are left off:
      // - alphabetize: fields stand as they are shown;
      // - lone-executable-definition, match-document-filename: a file is all that a feature asks for;
      // - require-import-fragment: all documents are made into one module;
      // - no-one-place-fragments: a fragment is what a component shows, wherever it stands.
    },
  },
];
