/** `server addresses name`: gives deployments from before names an address with a name, on the server's machine or in its pod. */
import path from 'node:path'
import { releasePort } from '../../dataplane/process/machine/ports.ts'
import { findUnnamed, nameDeployment } from '../../domain/deployments/address-name.ts'
import { uuid } from '../../domain/parsing/fields.ts'
import { readConfig } from '../../platform/config/config.ts'
import { command, formatTable, UsageError } from '../terminal/command.ts'
import { withCore } from './core.ts'

export const name = command({
  examples: ['server addresses name 0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1', 'server addresses name --all'],
  details:
    'The old address, a port or an Ingress, stops working. A running server or listener opens the new one within moments.\nIn a cluster, this names the deployments of its door.',
  define: (command) =>
    command
      .argument('[id]', 'a deployment')
      .option('--all', 'all deployments that a door can serve and that have no name'),
  async work(_, [given], { all = false }) {
    if (all === (given !== undefined)) throw new UsageError('Pass an ID or --all.')
    const id = uuid.safeParse(given)
    if (!all && !id.success) throw new UsageError('ID must be the id of a deployment.')
    const { RUNTIME, DATA_DIR } = readConfig(process.env)
    const folder = path.join(DATA_DIR, 'ports')
    return withCore(async (core) => {
      const found = await findUnnamed(core, all ? null : id.data!)
      if (!all && found.length === 0)
        throw new UsageError(`${given} is not a deployment that a door can serve and that has no name.`)
      const named = []
      for (const deployment of found) {
        // first: the next holder must not find it
        if (deployment.listenerId === null && RUNTIME !== 'kubernetes') releasePort({ folder }, deployment.id)
        const addressName = await nameDeployment(core, deployment.id)
        if (addressName !== null) named.push({ id: deployment.id, name: deployment.name, address_name: addressName })
      }
      const rows = named.map((one) => [one.id, one.name, one.address_name])
      const text =
        named.length === 0 ? 'All deployments have names.' : formatTable([['ID', 'DEPLOYMENT', 'NAME'], ...rows])
      return { outcome: 'done', json: { deployments: named }, text }
    })
  },
})
