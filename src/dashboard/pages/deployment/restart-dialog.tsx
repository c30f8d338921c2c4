/** Confirms that the running revision is restarted. */
import type { ActionDialog } from '../../components/action-menu.tsx'
import { confirmation } from '../../components/dialog-form.tsx'
import type { ShownDeployment } from './documents.ts'

export const restartDialog = ({ id, name, activeRevision: active, serving }: ShownDeployment): ActionDialog =>
  confirmation({
    title: `Restart ${name}?`,
    verb: 'Restart',
    command: 'restartDeployment',
    input: { deploymentId: id },
    text: `${active ? `#${active.number} runs again` : 'It runs again'} in a new process, without a build. ${serving ? 'The present one serves until the new one is ready.' : 'Nothing answers now.'}`,
  })
