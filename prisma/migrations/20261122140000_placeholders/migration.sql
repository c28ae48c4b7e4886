-- AlterTable
ALTER TABLE "user_account" ADD COLUMN     "is_placeholder" BOOLEAN NOT NULL DEFAULT false;
