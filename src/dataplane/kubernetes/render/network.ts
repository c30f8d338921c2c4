/** Services, and NetworkPolicies for clusters that enforce them. */
import { LABEL_COMPONENT, LABEL_DEPLOYMENT, LABEL_NAME, namesOf, selectorOf } from '../objects/names.ts'
import type {
  Application,
  Component,
  DeploymentRef,
  Infrastructure,
  Manifest,
  RenderOptions,
} from '../objects/types.ts'
import { type Labelled, objectMetadata } from './metadata.ts'
import { countsInDatabase } from './scale.ts'
import { CACHE_PORT, DATABASE_PORT } from './secrets.ts'

/** AWS, Azure, Google and most others; Alibaba. IPv6: AWS; Google; Oracle. The node's DNS may be link-local too. */
const METADATA = {
  v4: ['169.254.169.254/32', '100.100.100.200/32'],
  v6: ['fd00:ec2::254/128', 'fd20:ce::254/128', 'fd00:c1::a9fe:a9fe/128'],
}
/** Cloud DNS of GKE answers pods there: without it names don't resolve. That port returns no credentials. */
const DNS = { cidr: '169.254.169.254/32', port: 53 }

/** Kubernetes sets it on every namespace since 1.21. */
const LABEL_NAMESPACE = 'kubernetes.io/metadata.name'
/** of the door's pods (deploy/chart) */
const DOOR_APP = 'pilothouse-door'
/** of the pods of listeners and servers (deploy/chart) */
const RUNTIME_APPS = ['pilothouse-listener', 'pilothouse']

const inNamespace = (name: string) => ({ namespaceSelector: { matchLabels: { [LABEL_NAMESPACE]: name } } })

const podsOf = ({ deploymentId }: DeploymentRef, components: Component[]) => ({
  matchLabels: { [LABEL_DEPLOYMENT]: deploymentId },
  matchExpressions: [{ key: LABEL_COMPONENT, operator: 'In', values: components }],
})

/** Databases and caches accept only their own agents. Databases also accept what counts the backlog of the queue. */
export function databasePolicy(
  deployment: DeploymentRef,
  { spec }: Infrastructure,
  options: RenderOptions,
): Manifest[] {
  if (options.networkPolicies === 'none') return []
  const { kedaNamespace, queueLookNamespace } = options
  const runtimes = { podSelector: { matchExpressions: [{ key: LABEL_NAME, operator: 'In', values: RUNTIME_APPS }] } }
  const counting = [
    ...(countsInDatabase(spec, options) && kedaNamespace !== null ? [inNamespace(kedaNamespace)] : []),
    ...(queueLookNamespace === null ? [] : [{ ...inNamespace(queueLookNamespace), ...runtimes }]),
  ]
  return [
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: objectMetadata(namesOf(deployment.deploymentId).database, { deployment, spec, component: 'database' }),
      spec: {
        podSelector: podsOf(deployment, ['database', 'cache']),
        policyTypes: ['Ingress'],
        ingress: [
          {
            from: [{ podSelector: podsOf(deployment, ['server', 'queue']) }],
            ports: [DATABASE_PORT, CACHE_PORT].map((port) => ({ port, protocol: 'TCP' })),
          },
          ...(counting.length > 0 ? [{ from: counting, ports: [{ port: DATABASE_PORT, protocol: 'TCP' }] }] : []),
        ],
      },
    },
  ]
}

/**
 * Agents can't reach the metadata address, where clouds return the node's credentials, unless they have their own service
 * account.
 */
export function agentPolicy(deployment: DeploymentRef, { spec }: Application, options: RenderOptions): Manifest[] {
  if (options.networkPolicies !== 'all' || spec.service_account_name) return []
  return [
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: objectMetadata(namesOf(deployment.deploymentId).base, { deployment, spec, component: 'server' }),
      spec: {
        podSelector: podsOf(deployment, ['server', 'queue']),
        policyTypes: ['Egress'],
        egress: [
          {
            to: [
              // some networks don't match pods by IP block
              { namespaceSelector: {} },
              { ipBlock: { cidr: '0.0.0.0/0', except: METADATA.v4 } },
              { ipBlock: { cidr: '::/0', except: METADATA.v6 } },
            ],
          },
          {
            to: [{ ipBlock: { cidr: DNS.cidr } }],
            ports: ['UDP', 'TCP'].map((protocol) => ({ port: DNS.port, protocol })),
          },
        ],
      },
    },
  ]
}

/** Agents behind the door accept requests only from it, and from their own namespace. */
export function doorPolicy(deployment: DeploymentRef, { spec }: Application, options: RenderOptions): Manifest[] {
  const { networkPolicies, doorNamespace } = options
  if (networkPolicies !== 'all' || doorNamespace === null || deployment.addressName === null) return []
  const door = {
    ...inNamespace(doorNamespace),
    podSelector: { matchLabels: { [LABEL_NAME]: DOOR_APP } },
  }
  return [
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: objectMetadata(namesOf(deployment.deploymentId).server, { deployment, spec, component: 'server' }),
      spec: {
        podSelector: podsOf(deployment, ['server']),
        policyTypes: ['Ingress'],
        ingress: [{ from: [door, { podSelector: {} }] }],
      },
    },
  ]
}

/** A cluster-internal Service. Only the door or an Ingress publishes a deployment. */
export function service(
  name: string,
  labelled: Labelled,
  port: { name: string; port: number; target: number },
): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: objectMetadata(name, labelled),
    spec: {
      type: 'ClusterIP',
      selector: selectorOf(labelled.deployment.deploymentId, labelled.component),
      // the protocol is part of the key of a port in server-side apply
      ports: [{ name: port.name, port: port.port, targetPort: port.target, protocol: 'TCP' }],
    },
  }
}

/** A name for a Service of another namespace: an Ingress has no backends there. */
export function externalService(
  name: string,
  labelled: Labelled,
  { host, port }: { host: string; port: number },
): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: objectMetadata(name, labelled),
    spec: {
      type: 'ExternalName',
      externalName: host,
      ports: [{ name: 'http', port, targetPort: port, protocol: 'TCP' }],
    },
  }
}
