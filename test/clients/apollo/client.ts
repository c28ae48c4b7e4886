import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from '@apollo/client';
import { SetContextLink } from '@apollo/client/link/context';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { type IntrospectionQuery, OperationTypeNode } from 'graphql';
import { patientFetch } from '../patient-fetch.ts';
import { type QueuePosition, resumingSocket } from '../socket.ts';

/** Creates an Apollo Client with its cache. */
export function apolloClient(
  url: string,
  authorization: () => string,
  place: QueuePosition,
  schema: IntrospectionQuery,
): ApolloClient {
  const signedIn = new SetContextLink(() => ({ headers: { authorization: authorization() } }));
  return new ApolloClient({
    // Without `possibleTypes`, Apollo drops fragments on interfaces, such as `... on ServiceError`, and reports nothing.
    cache: new InMemoryCache({
      possibleTypes: Object.fromEntries(
        schema.__schema.types
          .filter((type) => type.kind === 'INTERFACE' || type.kind === 'UNION')
          .map(({ name, possibleTypes }) => [name, possibleTypes.map((type) => type.name)]),
      ),
    }),
    link: ApolloLink.split(
      ({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION,
      new GraphQLWsLink(resumingSocket(url, authorization, place)),
      signedIn.concat(new HttpLink({ uri: url, fetch: patientFetch })),
    ),
  });
}
