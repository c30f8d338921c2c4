/** Creates a signed link, which opens a deployment's agent with the rights of the signed-in user. */
import { graphql } from '../api/graphql.ts'
import { useUncachedWrite } from '../api/use-write.ts'

const createLinkMutation = graphql(`
  mutation CreateDeploymentLink($input: CreateDeploymentLinkInput!) {
    createDeploymentLink(input: $input) {
      __typename
      ... on CreateDeploymentLinkSuccess {
        url
      }
    }
  }
`)

/** Without the cache, because the link is secret. */
export const useCreateLink = () => useUncachedWrite(createLinkMutation)
