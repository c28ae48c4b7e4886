// Rules for `schema.graphql` and for the documents of the web page, part of `npm run check`. `contract.ts` counts the criteria
// that these rules cannot express. The documents of `clients/` are not checked here: some are assembled from parts, and
// the service validates them. Others have the form that relay-compiler requires, and the compiler checks them.
import plugin from '@graphql-eslint/eslint-plugin';

const SCHEMA = 'schema.graphql';
const DOCUMENTS = 'src/web/**/*.graphql';

/** Types without an id: parts of an object that has an id, and complete values, for which nothing more can be loaded. */
const WITHOUT_ID = {
  suffixes: ['Payload', 'Error', 'Event', 'Connection', 'Edge', 'Outcome', 'Permissions', 'Facet', 'Facets'],
  types: [
    ...[
      'AuditLogChange',
      'AuthenticationMethods',
      'EventPage',
      'ExternalAuthenticationMethod',
      'GroupObjection',
      'GroupSetting',
      'IdentityProviderGroupRule',
      'LinkPreview',
    ],
    ...[
      'MessageFlagChange',
      'MessageImage',
      'MessageMedia',
      'MessageLink',
      'MessageMention',
      'LinkedIdentity',
      'MessageSnapshot',
      'MutedTopic',
      'OutdatedFields',
      'OwnPasskey',
      'OwnSecondFactor',
      'PageInfo',
      'ProfileChoice',
      'ProfileValue',
      'RefusedAddress',
      'PublicOrganization',
    ],
    ...[
      'RateLimit',
      'ReactionGroup',
      'ServerSettings',
      'SignOutProvider',
      'TopicLink',
      'Totals',
      'TypingTimes',
      'UnreadChange',
    ],
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
          // Inputs that identify an object end in Ref, Target or Anchor: ChannelRef, MessageTarget, MessageAnchor.
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
      // Short lists are not connections. Edges of old versions of a message have nodes without an id.
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
      // `Reaction.reactionType` has the same name as in the inputs that add and remove a reaction.
      '@graphql-eslint/no-typename-prefix': 'off',
      // Rules of the plugin that are not enabled:
      // - alphabetize: the file is printed in a different order, lower case after upper case;
      // - no-root-type: the schema has all three root types;
      // - require-nullable-result-in-root: a mutation always returns a member of its union. `contract.ts` counts queries;
      // - require-field-of-type-query-in-mutation-result: only a registration returns the state at one position of the log;
      // - require-type-pattern-with-oneof: applies to object types with `@oneOf`. The schema has none;
      // - require-deprecation-date: requires an argument of `@deprecated` that GraphQL does not define;
      // - no-unused-fields: clients other than the web page use these fields.
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
          // "Subscription" is a permitted suffix, because users also have subscriptions to channels: UpdateSubscription.
          OperationDefinition: { ...operationNames.OperationDefinition, forbiddenSuffixes: ['Query', 'Mutation'] },
        },
      ],
      // The service itself limits the depth and the cost of documents.
      '@graphql-eslint/selection-set-depth': 'off',
      // Rules of the plugin that are not enabled:
      // - alphabetize: fields are in the order in which the page shows them;
      // - lone-executable-definition, match-document-filename: a file contains all documents of a feature;
      // - require-import-fragment: all documents are compiled into one module;
      // - no-one-place-fragments: a fragment contains the fields that a component shows, even if it is used only once.
    },
  },
];
