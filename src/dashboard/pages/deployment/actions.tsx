/** Actions on a deployment, next to its name, with their dialogs. Actions that the reader may not do are hidden. */
import { Button, Code, List, Stack, Text, TextInput } from '@mantine/core'
import {
  IconArrowBackUp,
  IconDots,
  IconGitBranch,
  IconGitCompare,
  IconPlayerStop,
  IconRefresh,
  IconRotate,
  IconSettings,
  IconTrash,
} from '@tabler/icons-react'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { createProblem } from '../../api/problem.ts'
import { useCommand } from '../../api/use-write.ts'
import { type ActionDialog, ActionMenu } from '../../components/action-menu.tsx'
import { confirmation, DialogForm } from '../../components/dialog-form.tsx'
import { isOpen } from '../../components/labels.ts'
import { ButtonTo } from '../../components/links.tsx'
import { useHasRole } from '../../components/me.ts'
import { interruptDialog, redeployDialog } from '../../components/revision-dialogs.tsx'
import type { ShownDeployment, TimelineRevision } from './documents.ts'

/** A dialog, made from the deployment as it is now. */
export type DeploymentDialog = (now: ShownDeployment) => ActionDialog

interface ActionsProps {
  deployment: ShownDeployment
  rollout: TimelineRevision | null
  /** the revision deployed before the active one, if it can run again */
  rollbackTarget: TimelineRevision | null
  onDialog(dialog: DeploymentDialog): void
}

export function Actions({ deployment, rollout, rollbackTarget, onDialog }: ActionsProps) {
  const { ws } = useParams({ from: '/w/$ws' })
  const navigate = useNavigate()
  const { id, status, serving, activeRevision: active, newest } = deployment
  const canDeploy = useHasRole('deployer') && status !== 'AWAITING_DELETE'
  const redeployable = active ?? newest.nodes[0] ?? null
  // a redeploy would build the same commit, and fail again
  const failedBuild = rollout?.status === 'BUILD_FAILED' && tracksBranch(rollout) ? rollout : null
  const redeploy = (revision: TimelineRevision) => () => onDialog((now) => redeployDialog(now, revision))
  return (
    <>
      {canDeploy && rollout && isOpen(rollout.status) && (
        <Button
          variant="default"
          leftSection={<IconPlayerStop size={16} />}
          onClick={() => onDialog((now) => interruptDialog(now, rollout))}
        >
          Interrupt
        </Button>
      )}
      {canDeploy && failedBuild && (
        <Button
          leftSection={<IconGitBranch size={16} />}
          onClick={() => onDialog((now) => newestCommitDialog(now, failedBuild))}
        >
          Deploy newest commit
        </Button>
      )}
      {canDeploy && rollbackTarget && !failedBuild && (
        <Button
          // highlighted while nothing serves, because a rollback may fix it
          variant={serving ? 'default' : 'filled'}
          leftSection={<IconArrowBackUp size={16} />}
          onClick={redeploy(rollbackTarget)}
        >
          Roll back to #{rollbackTarget.number}
        </Button>
      )}
      {canDeploy && !rollbackTarget && !failedBuild && redeployable?.canRedeploy && (
        <Button variant="default" leftSection={<IconRefresh size={16} />} onClick={redeploy(redeployable)}>
          Redeploy #{redeployable.number}
        </Button>
      )}
      <ButtonTo
        to="/w/$ws/deployments/$id/settings"
        params={{ ws, id }}
        variant="default"
        leftSection={<IconSettings size={16} />}
      >
        Settings
      </ButtonTo>
      <ActionMenu
        target={
          <Button variant="default" px="xs" aria-label="More actions">
            <IconDots size={18} />
          </Button>
        }
        actions={[
          canDeploy &&
            rollbackTarget &&
            failedBuild && {
              label: `Roll back to #${rollbackTarget.number}…`,
              icon: IconArrowBackUp,
              run: redeploy(rollbackTarget),
            },
          canDeploy &&
            (rollbackTarget || failedBuild) &&
            redeployable?.canRedeploy && {
              label: `Redeploy #${redeployable.number}…`,
              icon: IconRefresh,
              run: redeploy(redeployable),
            },
          canDeploy && active && { label: 'Restart…', icon: IconRotate, run: () => onDialog(restartDialog) },
          newest.nodes.length > 1 && {
            label: 'Compare revisions',
            icon: IconGitCompare,
            run: () => void navigate({ to: '/w/$ws/deployments/$id/compare', params: { ws, id } }),
          },
          canDeploy && { label: 'Delete…', icon: IconTrash, dangerous: true, run: () => onDialog(deleteDialog) },
        ]}
      />
    </>
  )
}

/** Whether the ref is a branch, which may have a newer commit, not a tag or a commit. */
function tracksBranch({ sourceRevisionConfig: { repoRef } }: TimelineRevision): boolean {
  return repoRef !== null && !repoRef.startsWith('refs/tags/') && !/^([0-9a-f]{40}|[0-9a-f]{64})$/i.test(repoRef)
}

const restartDialog = ({ id, name, activeRevision: active, serving }: ShownDeployment): ActionDialog =>
  confirmation({
    title: `Restart ${name}?`,
    verb: 'Restart',
    command: 'restartDeployment',
    input: { deploymentId: id },
    text: `${active ? `#${active.number} runs again` : 'It runs again'} in a new process, without a build. ${serving ? 'The present one serves until the new one is ready.' : 'Nothing answers now.'}`,
  })

/** `failed`: the revision with the failed build */
function newestCommitDialog(
  { id, version, serving, activeRevision: active }: ShownDeployment,
  { number, sourceRevisionConfig: { repoRef, repoCommitSha } }: TimelineRevision,
): ActionDialog {
  return confirmation({
    title: `Deploy the newest commit of ${repoRef}?`,
    verb: 'Deploy',
    command: 'createRevision',
    input: { deploymentId: id, sourceRevisionConfig: { repoRef }, ifVersion: version },
    text: (
      <Text inherit style={{ overflowWrap: 'anywhere' }}>
        Creates a revision from the newest commit of {repoRef}.
        {repoCommitSha && (
          <>
            {' '}
            #{number} was built from <Code>{repoCommitSha.slice(0, 7)}</Code>.
          </>
        )}
        {active && serving && ` #${active.number} keeps serving until the new revision is ready.`}
      </Text>
    ),
  })
}

/** Confirms a deletion: lists what is deleted and asks for the name, because a deletion can't be undone. */
const deleteDialog = (deployment: ShownDeployment): ActionDialog => ({
  title: `Delete ${deployment.name}?`,
  content: (close) => <Delete deployment={deployment} onClose={close} />,
})

function Delete({ deployment, onClose }: { deployment: ShownDeployment; onClose(): void }) {
  const { id, name, version, url, secrets, newest, serving, activeRevision } = deployment
  const [remove] = useCommand('deleteDeployment')
  const [typed, setTyped] = useState('')
  const submit = async () =>
    typed.trim() === name
      ? remove({ deploymentId: id, ifVersion: version })
      : { ok: false as const, problem: createProblem('VALIDATION_FAILED', `Type ${name} exactly as shown.`) }
  const revisions = newest.totalCount === 1 ? '1 revision' : `${newest.totalCount} revisions`
  return (
    <DialogForm verb="Delete" dangerous onSubmit={submit} onClose={onClose}>
      <Stack gap="sm">
        <Text size="sm">This can’t be undone. It deletes:</Text>
        <List size="sm" spacing={4} listStyleType="disc">
          {activeRevision && (
            <List.Item>
              the {serving ? 'serving' : 'deployed'} revision #{activeRevision.number}
              {url && <>, at {url}</>}
            </List.Item>
          )}
          <List.Item>{revisions} with logs and builds</List.Item>
          <List.Item>all data in the agent’s database and on its disk</List.Item>
          {secrets.length > 0 && (
            <List.Item>
              {secrets.length === 1 ? '1 secret' : `${secrets.length} secrets`}:{' '}
              <Text span inherit ff="monospace" style={{ overflowWrap: 'anywhere' }}>
                {secrets.map((secret) => secret.name).join(', ')}
              </Text>
            </List.Item>
          )}
        </List>
        <TextInput
          label={
            <>
              Type <b>{name}</b> to confirm
            </>
          }
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus
        />
      </Stack>
    </DialogForm>
  )
}
