/**
 * What every page hears of: `deploymentsChanged`, the one subscription of a workspace (docs/api-rules.md#what-changes-of-deployments). It is
 * followed by the shell (app/live-updates.tsx) and is in the cache at once, so whatever a page selects of `LiveDeployment`
 * moves by itself. What needs more (which deployments a list has, how many there are) is asked again when
 * `watchDeployments` calls: with the ids that have changed, or with none where everything may be old, as after a pause.
 */

import { graphql, type ResultOf } from '../api/graphql.ts'
import { actorFragment } from './actor.ts'

/** What a list, or the head of a page, shows of a deployment. */
export const liveDeploymentFragment = graphql(
  `
    fragment LiveDeployment on Deployment @_unmask {
      id
      name
      source
      status
      reason
      reasonSince
      statusMessage
      serving
      whyNotLive
      health {
        ready
        desired
        message
        reason
        observedAt
      }
      url
      imageVersion
      version
      updatedAt
      sourceConfig {
        repoUrl
        listenerId
      }
      lastChange {
        at
        what
        actor {
          ...ActorName
        }
      }
      tags {
        id
        key
        value
      }
      latestRevision {
        ...LiveRevision
      }
      activeRevision {
        ...LiveRevision
      }
    }
  
    fragment LiveRevision on Revision @_unmask {
      id
      number
      status
      statusMessage
      statusSince
      reason
      reasonSince
      attempt
      deployedAt
      sourceRevisionConfig {
        repoRef
        repoCommitSha
        imageUri
      }
    }
  `,
  [actorFragment],
)

export const deploymentsChangedSubscription = graphql(
  `
    subscription DeploymentsChanged($after: String) {
      deploymentsChanged(after: $after) {
        cursor
        deploymentIds
        deployments {
          ...LiveDeployment
        }
      }
    }
  `,
  [liveDeploymentFragment],
)

/** What has changed, as it is now. `deploymentIds` that are not among the `deployments` are gone; none: whatever was read before may be old. */
export type DeploymentsChange = ResultOf<typeof deploymentsChangedSubscription>['deploymentsChanged']

type Watcher = (change: DeploymentsChange) => void

const watchers = new Set<Watcher>()

/** Answers how to end it. */
export function watchDeployments(watcher: Watcher): () => void {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

/** Called when the cache has it. */
export function notifyWatchers(change: DeploymentsChange): void {
  for (const watcher of [...watchers]) watcher(change)
}
