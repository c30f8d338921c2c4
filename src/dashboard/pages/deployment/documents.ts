/** GraphQL documents of the deployment page. */
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { actedOnFragment, actedRevisionFragment } from '../../components/acted-on.ts'
import { actorFragment } from '../../components/actor.ts'
import { liveDeployment } from '../../components/live.ts'

/** Fields that the timeline and the rollout progress show. */
const revisionFragment = graphql(
  `
  fragment TimelineRevision on Revision @_unmask {
    ...ActedRevision
    statusMessage
    reason
    reasonSince
    attempt
    source
    trigger
    isActive
    commitMessage
    commitAuthor
    createdAt
    rolloutAt
    deployedAt
    queuePosition
    createdByActor {
      ...ActorName
    }
    rolloutBy {
      ...ActorName
    }
    supersededBy {
      id
      number
    }
    sourceRevisionConfig {
      repoRef
      repoCommitSha
      imageUri
      sourceTarballPath
    }
    steps {
      kind
      createdAt
      startedAt
      endedAt
      outcome
      tries
      isCurrent
    }
    durations {
      total
    }
  }
`,
  [actorFragment, actedRevisionFragment],
)

export type TimelineRevision = ResultOf<typeof revisionFragment>

export const deploymentQuery = graphql(
  `
  query Deployment($id: ID!) {
    deployment(id: $id) {
      ...LiveDeployment
      ...ActedOn
      secrets {
        name
      }
      listener {
        id
        computeId
        status
      }
      newest: revisions(first: 20) {
        totalCount
        pageInfo {
          hasNextPage
          endCursor
        }
        nodes {
          ...TimelineRevision
        }
      }
      activeRevision {
        ...TimelineRevision
      }
    }
  }
`,
  [liveDeployment, actedOnFragment, revisionFragment],
)

export const olderQuery = graphql(
  `
  query OlderRevisions($id: ID!, $after: String) {
    deployment(id: $id) {
      id
      revisions(first: 20, after: $after) {
        pageInfo {
          hasNextPage
          endCursor
        }
        nodes {
          ...TimelineRevision
        }
      }
    }
  }
`,
  [revisionFragment],
)

export type ShownDeployment = NonNullable<ResultOf<typeof deploymentQuery>['deployment']>
