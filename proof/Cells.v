(** Tables of cells, and rows of cells that hear each other. *)

From Coq Require Export String.
From Coq Require Import FMapPositive.
From Digitwise Require Export Words.
Open Scope list_scope.

(** What a cell meets: its own symbol, the symbols it sees, the code it hears along its row, the code it hears from the
    row before. None: it hears nothing. *)
Record situation := Situation { own : ascii; seen : list ascii; along : option N; across : option N }.

(** What it does: the symbol it writes, the code it says to the next cell of its row and to the next row. *)
Record said := Said { symbol : ascii; to_next : option N; to_row : option N }.

Definition situation_eq (a b : situation) : {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.

(** A table is a partial function: the first line with this situation counts. *)
Definition table := list (situation * said).

Definition is_line (s : situation) (line : situation * said) : bool := if situation_eq s (fst line) then true else false.

Definition cell (t : table) (s : situation) : option said := option_map snd (find (is_line s) t).

(** A line as certificates write it, with -1 for no code. *)
Definition code (z : Z) : option N := if (z <? 0)%Z then None else Some (Z.to_N z).

Definition line own digits along across symbol along_said across_said : situation * said :=
  (Situation own (list_ascii_of_string digits) (code along) (code across),
   Said symbol (code along_said) (code across_said)).

Arguments line _%char _%string _%Z _%Z _%char _%Z _%Z.

(** A place of a row, for a cell with this symbol: what it sees, and what it hears from the row before. *)
Record place A := Place { stands : ascii; sees : list ascii; hears : option A }.
Arguments Place {A}.
Arguments stands {A}.
Arguments sees {A}.
Arguments hears {A}.

(** The cells of a row in the order in which it flows: each hears what the one before it in this order said, the first
    hears [heard]. The result is None if one of them meets a situation that is not in the table. *)
Fixpoint row (f : situation -> option said) (heard : option N) (places : list (place N)) : option (list said) :=
  match places with
  | [] => Some []
  | p :: places =>
      match f (Situation (stands p) (sees p) heard (hears p)) with
      | None => None
      | Some s => option_map (cons s) (row f (to_next s) places)
      end
  end.

Definition written (r : list said) : list ascii := map symbol r.

(** * Finding lines fast

    Lines with equal keys stand in one bucket, in their order. Nothing proven depends on what the keys are. *)

Section Buckets.
  Context {A : Type} (key : A -> positive).

  Definition at_key (b : PositiveMap.t (list A)) (k : positive) : list A :=
    match PositiveMap.find k b with Some l => l | None => [] end.

  Definition put (x : A) (b : PositiveMap.t (list A)) := PositiveMap.add (key x) (x :: at_key b (key x)) b.

  Definition index (l : list A) : PositiveMap.t (list A) := fold_right put (PositiveMap.empty _) l.

  Lemma at_index l k : at_key (index l) k = filter (fun x => Pos.eqb (key x) k) l.
  Proof.
    induction l as [|x l IH]; cbn [index fold_right filter].
    - unfold at_key. now rewrite PositiveMap.gempty.
    - unfold at_key at 1, put. destruct (Pos.eqb_spec (key x) k) as [<-|NE].
      + rewrite PositiveMap.gss. f_equal. apply IH.
      + rewrite PositiveMap.gso by auto. apply IH.
  Qed.

  Context (A_eq : forall a b : A, {a = b} + {a <> b}).

  Definition among (b : PositiveMap.t (list A)) (x : A) : bool :=
    if in_dec A_eq x (at_key b (key x)) then true else false.

  Lemma among_index l x : among (index l) x = true -> In x l.
  Proof.
    unfold among. destruct (in_dec _ _ _) as [I|]; [|easy]. intros _. rewrite at_index in I. now apply filter_In in I.
  Qed.

  (** All that [step] leads to from a list, found level by level; nothing is proven of it. *)
  Definition take (found : list A * PositiveMap.t (list A)) (x : A) :=
    if among (snd found) x then found else (x :: fst found, put x (snd found)).

  Fixpoint reach (step : A -> list A) (fuel : nat) (all fresh : list A) (b : PositiveMap.t (list A)) : list A :=
    match fuel, fresh with
    | S fuel, _ :: _ =>
        let '(new, b) := fold_left take (flat_map step fresh) ([], b) in reach step fuel (new ++ all) new b
    | _, _ => all
    end.

  Definition closure (step : A -> list A) (l : list A) : list A := reach step 1000 l l (index l).
End Buckets.

Definition mix (a b : N) : N := 64 * a + b.
Definition number_of_code (c : option N) : N := match c with None => 0 | Some n => n + 1 end.

Definition situation_key (s : situation) : positive :=
  N.succ_pos (mix (mix (fold_left (fun k c => mix k (N_of_ascii c mod 64)) (own s :: seen s) 0)
    (number_of_code (along s))) (number_of_code (across s))).

Definition line_key (l : situation * said) : positive := situation_key (fst l).

Definition find_cell (b : PositiveMap.t table) (s : situation) : option said := cell (at_key b (situation_key s)) s.

Lemma find_cell_is_cell t s : find_cell (index line_key t) s = cell t s.
Proof.
  unfold find_cell, cell. rewrite at_index. f_equal.
  induction t as [|l t IH]; [easy|]. cbn [filter find]. unfold is_line at 2.
  destruct (situation_eq s (fst l)) as [->|NE].
  - unfold line_key. rewrite Pos.eqb_refl. cbn [find]. unfold is_line.
    now destruct (situation_eq (fst l) (fst l)).
  - destruct (Pos.eqb _ _); [|apply IH]. cbn [find]. unfold is_line at 1. now destruct (situation_eq s (fst l)).
Qed.
