/**
 * Helpers for tests of the Kubernetes runtime: a runtime in a cluster, deployments as the control plane sends them,
 * and their objects in the cluster.
 */
import { randomUUID } from 'node:crypto'
import { CoreV1Api, KubeConfig, type V1Pod } from '@kubernetes/client-node'
import { pino } from 'pino'
import { afterAll, beforeAll } from 'vitest'
import type { ClusterTimes } from '../../src/dataplane/kubernetes/api-server/retry.ts'
import { type Cluster, connectCluster } from '../../src/dataplane/kubernetes/cluster/cluster.ts'
import {
  createKubernetesRuntime,
  type KubernetesRuntimeOptions,
} from '../../src/dataplane/kubernetes/deployment/runtime.ts'
import { LABEL_COMPONENT, LABEL_DEPLOYMENT, namesOf } from '../../src/dataplane/kubernetes/objects/names.ts'
import type { LiveObject } from '../../src/dataplane/kubernetes/objects/types.ts'
import type {
  Candidate,
  LeasedClaim,
  OnProgress,
  RevisionStep,
  Runtime,
  TimedStep,
} from '../../src/dataplane/runtimes/runtime.ts'
import type { RevisionWork, Run, SecretReference } from '../../src/domain/protocol/protocol.ts'
import { effectiveSpec, type ResourceSpec } from '../../src/domain/values/resource-spec.ts'
import type { StepKind } from '../../src/generated/prisma/enums.ts'
import { claimOf, eventually, memoryLog, never } from '../dataplane/support.ts'
import { openTestCluster, type TestCluster } from '../support/kubernetes/cluster.ts'
import { type AdminView, adminView } from '../support/kubernetes/objects.ts'
import type { StandInOptions } from '../support/kubernetes/stand-in.ts'
import { imageRevision } from '../support/revision-work.ts'
import { options as PLAIN } from './render-support.ts'

export { eventually, never }

// the queue is off unless a test needs it, because it becomes ready only after 5 s
const QUICK: ResourceSpec = { queue_min_scale: 0, queue_max_scale: 0 }

export interface Site {
  test: TestCluster
  namespace: string
  cluster: Cluster
  runtime: Runtime
  /** A second process of the same listener. */
  another(
    options?: Partial<KubernetesRuntimeOptions>,
    kubeconfig?: string,
  ): Promise<{ cluster: Cluster; runtime: Runtime }>
  /** of the admin */
  config: KubeConfig
  core: CoreV1Api
  objects: AdminView
  close(): Promise<void>
}

/** A new namespace with a runtime that has a listener's permissions. */
export async function openSite(
  {
    cluster,
    standIn,
    kubeconfig: through,
    ...changes
  }: Partial<KubernetesRuntimeOptions> & {
    standIn?: StandInOptions
    /** derives the runtime's kubeconfig from the listener's */
    kubeconfig?: (file: string) => Promise<string>
  } = {},
  times?: Partial<ClusterTimes>,
): Promise<Site> {
  const test = await openTestCluster(standIn)
  const namespace = await test.createNamespace()
  const listeners = await test.limitedKubeconfig({ namespaces: [namespace] })
  const kubeconfig = through ? await through(listeners) : listeners
  const log = pino({ level: process.env.TEST_LOG ?? 'silent' })
  const opened: { cluster: Cluster; runtime: Runtime }[] = []
  const another: Site['another'] = async (options = {}, file = kubeconfig) => {
    const cluster = await connectCluster({ kubeconfig: file, log, ...(times ? { times } : {}) })
    const runtime = createKubernetesRuntime({
      cluster,
      render: PLAIN,
      volumePolicy: 'delete',
      namespace,
      log,
      ...changes,
      ...options,
    })
    opened.push({ cluster, runtime })
    return { cluster, runtime }
  }
  const first = await another()
  const config = new KubeConfig()
  config.loadFromFile(test.kubeconfig)
  return {
    test,
    namespace,
    ...first,
    another,
    config,
    core: config.makeApiClient(CoreV1Api),
    objects: adminView(test.kubeconfig),
    async close() {
      for (const { cluster, runtime } of opened) {
        await runtime.close()
        await cluster.close()
      }
      await test.close()
    },
  }
}

/** Opens a site for the tests of a file. It is usable in tests, not while the file loads. */
export function useSite(...given: Parameters<typeof openSite>): Site {
  const site = {} as Site
  beforeAll(async () => {
    Object.assign(site, await openSite(...given))
  })
  afterAll(() => site.close?.())
  return site
}

/** An image of the stand-in's agent. `bad`, `crash` and `slow` behave as they are called. */
export const image = (tag: string) => `registry.example.com/agent:${tag}`
export const [V1, V2] = [image('1'), image('2')]

/** A new deployment that serves a revision with image V1. `change`: of the revision. */
export async function serving(site: Site, how: How = {}, change: Partial<RevisionWork> = {}): Promise<Tenant> {
  const tenant = new Tenant(site)
  await tenant.provision(how.spec, never, how)
  await tenant.deploy(tenant.revision(V1, change), how)
  return tenant
}

/** One deployment, handled as the holder of its claim does. */
export class Tenant {
  readonly site: Site
  readonly claim: LeasedClaim
  readonly log = memoryLog()
  runtime: Runtime
  run: Run | null = null
  #number = 0

  constructor(site: Site, claim: Partial<LeasedClaim> = {}, runtime = site.runtime) {
    this.site = site
    this.claim = claimOf(claim)
    this.runtime = runtime
  }

  get id(): string {
    return this.claim.deployment.id
  }

  get names() {
    return namesOf(this.id)
  }

  /** The same deployment, held by another process. */
  takenOver(runtime: Runtime, token: string, changes: Partial<LeasedClaim> = {}): Tenant {
    const other = new Tenant(this.site, { ...this.claim, token, claimId: randomUUID(), ...changes }, runtime)
    other.run = this.run
    return other
  }

  revision(image: string, changes: Partial<RevisionWork> = {}): RevisionWork {
    return imageRevision(image, { number: ++this.#number, ...changes })
  }

  ensure(): void {
    this.runtime.ensure(this.claim, this.run, this.run && this.log)
  }

  async provision(spec: ResourceSpec = {}, signal = never, how: How = {}): Promise<void> {
    await this.runtime.provision(this.claim, stepOf('PROVISION', null, { spec, ...how }), signal)
  }

  /** Runs only the step: the candidate is ready and not recorded yet. */
  prepare(revision: RevisionWork, how: How = {}, signal = never): Promise<Candidate> {
    return this.runtime.deploy(this.claim, stepOf('DEPLOY', revision, how), this.log, signal, how.onProgress)
  }

  /** Deploys the revision and makes it the served one. */
  async deploy(revision: RevisionWork, how: How = {}): Promise<Candidate> {
    const candidate = await this.prepare(revision, how)
    await candidate.commit(async () => true)
    this.run = runOf(revision, how)
    this.ensure()
    return candidate
  }

  teardown(): Promise<void> {
    return this.runtime.teardown(this.claim, stepOf('TEARDOWN', null), never)
  }

  /** The deployment's pods in the cluster, oldest first, without terminating ones. */
  async pods(component = 'server'): Promise<V1Pod[]> {
    const labelSelector = `${LABEL_DEPLOYMENT}=${this.id},${LABEL_COMPONENT}=${component}`
    const { items } = await this.site.core.listNamespacedPod({ namespace: this.site.namespace, labelSelector })
    return items.filter(({ metadata }) => !metadata?.deletionTimestamp)
  }

  async uids(component = 'server'): Promise<string[]> {
    return (await this.pods(component)).map(({ metadata }) => metadata!.uid!).sort()
  }

  /** An object of the deployment in the cluster; null: it does not exist. */
  object(apiVersion: string, kind: string, name: string): Promise<LiveObject | null> {
    return this.site.objects.get(apiVersion, kind, this.site.namespace, name)
  }

  // biome-ignore lint/suspicious/noExplicitAny: fields of any kind
  async server(): Promise<any> {
    return this.object('apps/v1', 'Deployment', this.names.server)
  }

  async image(): Promise<string> {
    return (await this.server()).spec.template.spec.containers[0].image
  }
}

export interface How {
  spec?: ResourceSpec
  secretReferences?: SecretReference[]
  customUrl?: string | null
  deadlineMs?: number
  onProgress?: OnProgress
}

export function stepOf(kind: StepKind, revision: RevisionWork | null, how: How = {}): RevisionStep {
  const { spec, secretReferences = [], customUrl = null, deadlineMs = 60_000 } = how
  const step: TimedStep = {
    id: randomUUID(),
    kind,
    tries: 1,
    deadline: performance.now() + deadlineMs,
    secondsLeft: deadlineMs / 1000,
    revision,
    spec: effectiveSpec({ ...QUICK, ...spec }),
    secretReferences,
    customUrl,
  }
  return step as RevisionStep
}

export function runOf(revision: RevisionWork, { spec, secretReferences = [], customUrl = null }: How = {}): Run {
  return { revision, spec: effectiveSpec({ ...QUICK, ...spec }), secretReferences, customUrl }
}
