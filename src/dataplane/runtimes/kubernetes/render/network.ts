/**
 * NetworkPolicies, for clusters whose network carries them out: databases and caches answer the deployment's own agents
 * alone, and agents don't reach the metadata address of their node, where a cloud hands out the node's credentials.
 *
 * Who names a service account wants its rights (pod.ts), in some clouds by that address: those agents reach it.
 */
import { LABEL_COMPONENT, LABEL_DEPLOYMENT, namesOf } from '../objects/names.ts'
import type { Application, Component, Infrastructure, Manifest, Owner, RenderOptions } from '../objects/types.ts'
import { objectMetadata } from './metadata.ts'
import { CACHE_PORT, DATABASE_PORT } from './secrets.ts'

/** AWS, Azure, Google and most others; Alibaba. Over IPv6 AWS; Google; Oracle. Not all link-local ones: DNS of the node may be one. */
const METADATA = {
  v4: ['169.254.169.254/32', '100.100.100.200/32'],
  v6: ['fd00:ec2::254/128', 'fd20:ce::254/128', 'fd00:c1::a9fe:a9fe/128'],
}
/** There it answers pods by Cloud DNS of GKE: without it they would know no name. No credentials are handed out on that port. */
const DNS = { cidr: '169.254.169.254/32', port: 53 }

const podsOf = ({ deploymentId }: Owner, components: Component[]) => ({
  matchLabels: { [LABEL_DEPLOYMENT]: deploymentId },
  matchExpressions: [{ key: LABEL_COMPONENT, operator: 'In', values: components }],
})

/** Of the database and the cache. */
export function databasePolicy(owner: Owner, { spec }: Infrastructure, options: RenderOptions): Manifest[] {
  if (options.networkPolicies === 'none') return []
  return [
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: objectMetadata(namesOf(owner.deploymentId).database, { owner, spec, component: 'database' }),
      spec: {
        podSelector: podsOf(owner, ['database', 'cache']),
        policyTypes: ['Ingress'],
        ingress: [
          {
            from: [{ podSelector: podsOf(owner, ['server', 'queue']) }],
            ports: [DATABASE_PORT, CACHE_PORT].map((port) => ({ port, protocol: 'TCP' })),
          },
        ],
      },
    },
  ]
}

/** Of server and queue. */
export function agentPolicy(owner: Owner, { spec }: Application, options: RenderOptions): Manifest[] {
  if (options.networkPolicies !== 'all' || spec.service_account_name) return []
  return [
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: objectMetadata(namesOf(owner.deploymentId).base, { owner, spec, component: 'server' }),
      spec: {
        podSelector: podsOf(owner, ['server', 'queue']),
        policyTypes: ['Egress'],
        egress: [
          {
            to: [
              // some networks count no pod as an address
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
