/**
 * The Deployments of server and queue: the same image, told apart by AGENT_SERVER_ROLE. What would hold a rollout back
 * is set although it is the default: so it is ours, and is repaired when somebody changes it (`kubectl rollout pause`).
 */
import { healthPathOf } from '../../../../domain/values/health-path.ts'
import { StepFailure } from '../../../output/step-failure.ts'
import { imageOf } from '../../artifact.ts'
import { AGENT_CONTAINER, AGENT_PORT, selectorOf } from '../objects/names.ts'
import type { Application, Manifest, Owner, RenderOptions } from '../objects/types.ts'
import { spread } from './availability.ts'
import { amountsOf } from './default-resources.ts'
import { environment } from './environment.ts'
import { agentPodMetadata, type Labelled, objectMetadata } from './metadata.ts'
import { classPatches, patched } from './patch.ts'
import { agentPod } from './pod.ts'
import { resources } from './quantity.ts'
import { hashed } from './template.ts'

/** In what the two differ. */
interface Kind {
  role: 'server' | 'queue'
  container: (app: Application, options: RenderOptions) => Record<string, unknown>
  minReadySeconds: number
  /** before SIGTERM: traffic still arrives until each node knows that the pod ends */
  preStopSeconds: (options: RenderOptions) => number
}

export const SERVER: Kind = {
  role: 'server',
  minReadySeconds: 0,
  preStopSeconds: ({ preStopSeconds }) => preStopSeconds,
  container: ({ spec, revision }, { defaults }) => {
    // images carry no health path: only the secret sets one
    const path = healthPathOf(revision.secrets)
    const probe = (timing: Record<string, number>) => ({ httpGet: { path, port: AGENT_PORT }, ...timing })
    return {
      ports: [{ name: 'http', containerPort: AGENT_PORT, protocol: 'TCP' }],
      ...resources(amountsOf('server', spec, defaults)),
      // an hour to start, looked at often: the rollout waits for it. A deploy's own deadline is the shorter one, and what it
      // has let through may take as long when its node is lost.
      startupProbe: probe({ periodSeconds: 2, timeoutSeconds: 5, failureThreshold: 1800 }),
      readinessProbe: probe({ periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 3 }),
      // slower to act: a busy agent loses its requests first, and is ended only when it stays silent
      livenessProbe: probe({ periodSeconds: 15, timeoutSeconds: 10, failureThreshold: 4 }),
    }
  },
}

export const QUEUE: Kind = {
  role: 'queue',
  // it answers no probe, so it counts as ready only when it has not crashed for a while
  minReadySeconds: 5,
  preStopSeconds: () => 0,
  container: ({ spec }, { defaults }) => resources(amountsOf('queue', spec, defaults)),
}

/** An image without `sleep` gets SIGTERM immediately where the cluster does not know the action: the hook fails then. */
const sleeping = (seconds: number, { knowsSleep }: RenderOptions) =>
  knowsSleep ? { sleep: { seconds } } : { exec: { command: ['sleep', String(seconds)] } }

/** Throws StepFailure for a revision without an image (built for another runtime), and for an unknown class. */
export function workload(
  name: string,
  owner: Owner,
  app: Application,
  kind: Kind,
  replicas: number,
  options: RenderOptions,
): Manifest {
  const { revision, spec } = app
  const image = imageOf(revision)
  if (!image)
    throw new StepFailure('CONFIG_INVALID', 'The revision has no container image, and Kubernetes runs only images.')
  const labelled: Labelled = { owner, spec, component: kind.role, revisionId: revision.id, imageUri: revision.imageUri }
  const preStopSeconds = kind.preStopSeconds(options)
  const agent = {
    name: AGENT_CONTAINER,
    image,
    env: environment(owner, app, kind.role),
    ...kind.container(app, options),
    ...(preStopSeconds > 0 ? { lifecycle: { preStop: sleeping(preStopSeconds, options) } } : {}),
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: objectMetadata(name, labelled),
    spec: {
      replicas,
      paused: false,
      minReadySeconds: kind.minReadySeconds,
      // longer than a deploy may take: when it is too late is for the control plane to say
      progressDeadlineSeconds: 3600,
      revisionHistoryLimit: 2,
      // the old ones serve until as many new ones are ready, where there is room for both
      strategy: {
        type: 'RollingUpdate',
        rollingUpdate: app.concessions?.inPlace.includes(kind.role)
          ? { maxUnavailable: 1, maxSurge: 0 }
          : { maxUnavailable: 0, maxSurge: '25%' },
      },
      selector: { matchLabels: selectorOf(owner.deploymentId, kind.role) },
      template: hashed(
        // the class is the more particular of the two, so it wins
        patched(
          patched(
            {
              metadata: agentPodMetadata(labelled, app.attempt),
              spec: {
                // the time before SIGTERM is part of it
                terminationGracePeriodSeconds: options.graceSeconds[kind.role] + preStopSeconds,
                ...spread(labelled),
                ...agentPod(spec, agent, options),
              },
            },
            options.patches[kind.role],
          ),
          classPatches(spec, options.classes)[kind.role],
        ),
      ),
    },
  }
}
