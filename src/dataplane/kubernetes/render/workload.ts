/**
 * Renders the Deployments of server and queue, which share the image (AGENT_SERVER_ROLE).
 * Defaults that could block a rollout are set, so that drift of them (`kubectl rollout pause`) is repaired.
 */
import { healthPathOf } from '../../../domain/values/health-path.ts'
import { StepFailure } from '../../output/step-failure.ts'
import { imageOf } from '../../runtimes/artifact.ts'
import { AGENT_CONTAINER, AGENT_PORT, selectorOf } from '../objects/names.ts'
import type { Application, DeploymentRef, Manifest, RenderOptions } from '../objects/types.ts'
import { environment } from './environment.ts'
import { agentPodMetadata, type Labelled, objectMetadata } from './metadata.ts'
import { agentPod } from './pod.ts'
import { amountsOf, resources } from './resources.ts'
import { spread } from './scale.ts'
import { classPatches, hashed, patched } from './template.ts'

interface Kind {
  role: 'server' | 'queue'
  container: (app: Application, options: RenderOptions) => Record<string, unknown>
  minReadySeconds: number
  /** seconds before SIGTERM: traffic arrives until each node knows that the pod ends */
  preStopSeconds: (options: RenderOptions) => number
}

const probe = (path: string, timing: Record<string, number>) => ({ httpGet: { path, port: AGENT_PORT }, ...timing })

/**
 * Startup may take an hour and is checked often, because the rollout waits for it. A deploy has a shorter deadline. A pod
 * that was rolled out may take as long again when its node is lost. A busy agent is restarted after a minute of silence.
 */
const startAndLiveness = (path: string) => ({
  startupProbe: probe(path, { periodSeconds: 2, timeoutSeconds: 5, failureThreshold: 1800 }),
  livenessProbe: probe(path, { periodSeconds: 15, timeoutSeconds: 10, failureThreshold: 4 }),
})

export const SERVER: Kind = {
  role: 'server',
  minReadySeconds: 0,
  preStopSeconds: ({ preStopSeconds }) => preStopSeconds,
  container: ({ spec, revision }, { defaults }) => {
    // images define no health path; only the secret sets one
    const path = healthPathOf(revision.secrets)
    return {
      ports: [{ name: 'http', containerPort: AGENT_PORT, protocol: 'TCP' }],
      ...resources(amountsOf('server', spec, defaults)),
      ...startAndLiveness(path),
      readinessProbe: probe(path, { periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 3 }),
    }
  },
}

export const QUEUE: Kind = {
  role: 'queue',
  // without a health path, the queue counts as available after some seconds without a crash
  minReadySeconds: 5,
  preStopSeconds: () => 0,
  container: ({ spec }, { defaults }) => ({
    ...resources(amountsOf('queue', spec, defaults)),
    ...(spec.queue_health_path ? startAndLiveness(spec.queue_health_path) : {}),
  }),
}

/** Without this action and without `sleep` in the image the hook fails, and SIGTERM follows immediately. */
const sleeping = (seconds: number, { knowsSleep }: RenderOptions) =>
  knowsSleep ? { sleep: { seconds } } : { exec: { command: ['sleep', String(seconds)] } }

/** Throws StepFailure for a revision without an image (built for another runtime), and for an unknown class. */
export function workload(
  name: string,
  deployment: DeploymentRef,
  app: Application,
  kind: Kind,
  replicas: number,
  options: RenderOptions,
): Manifest {
  const { revision, spec } = app
  const image = imageOf(revision)
  if (!image)
    throw new StepFailure('CONFIG_INVALID', 'The revision has no container image, and Kubernetes runs only images.')
  const labelled: Labelled = {
    deployment,
    spec,
    component: kind.role,
    revisionId: revision.id,
    imageUri: revision.imageUri,
  }
  const preStopSeconds = kind.preStopSeconds(options)
  const graceSeconds = spec.termination_grace_seconds ?? options.graceSeconds[kind.role]
  const agent = {
    name: AGENT_CONTAINER,
    image,
    env: environment(deployment, app, kind.role, options),
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
      // longer than any deploy: the control plane sets the deadline
      progressDeadlineSeconds: 86_400,
      revisionHistoryLimit: 2,
      // old pods serve until as many new pods are ready, if there is room for both
      strategy: {
        type: 'RollingUpdate',
        rollingUpdate: app.concessions?.inPlace.includes(kind.role)
          ? { maxUnavailable: 1, maxSurge: 0 }
          : { maxUnavailable: 0, maxSurge: '25%' },
      },
      selector: { matchLabels: selectorOf(deployment.deploymentId, kind.role) },
      template: hashed(
        // the class is more specific, so its patch is applied last
        patched(
          patched(
            {
              metadata: agentPodMetadata(labelled, app),
              spec: {
                // includes the time before SIGTERM
                terminationGracePeriodSeconds: graceSeconds + preStopSeconds,
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
