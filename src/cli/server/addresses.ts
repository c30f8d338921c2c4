/** `server addresses name`: gives deployments from before names an address with a name, on the server's machine. */
import path from 'node:path'
import { releasePort } from '../../dataplane/process/machine/ports.ts'
import { nameDeployment } from '../../domain/deployments/address-name.ts'
import { uuid } from '../../domain/parsing/fields.ts'
import { readConfig } from '../../platform/config/config.ts'
import { command, formatTable, UsageError } from '../terminal/command.ts'
import { withCore } from './core.ts'

export const name = command({
  examples: ['server addresses name 0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1', 'server addresses name --all'],
  details: 'The old address stops working. A running server opens the new one within moments.',
  define: (command) =>
    command.argument('[id]', 'a deployment').option('--all', 'all deployments of the process runtime that have a port'),
  async work(_, [given], { all = false }) {
    if (all === (given !== undefined)) throw new UsageError('Pass an ID or --all.')
    const id = uuid.safeParse(given)
    if (!all && !id.success) throw new UsageError('ID must be the id of a deployment.')
    const { RUNTIME, DATA_DIR } = readConfig(process.env)
    if (RUNTIME === 'kubernetes') throw new UsageError('Deployments on Kubernetes have no ports: new ones get names.')
    const folder = path.join(DATA_DIR, 'ports')
    return withCore(async (core) => {
      const where = { listenerId: null, deletedAt: null, addressName: null, ...(all ? {} : { id: id.data! }) }
      const found = await core.db.deployment.findMany({ where, select: { id: true, name: true } })
      if (!all && found.length === 0)
        throw new UsageError(`${given} is not a deployment that has a port as its address.`)
      const named = []
      for (const deployment of found) {
        // first: the next holder must not find it
        releasePort({ folder }, deployment.id)
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
